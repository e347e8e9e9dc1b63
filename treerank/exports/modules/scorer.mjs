/* A ranker exported by treerank: an ES module for Node.js, Deno, Bun and browsers.

   score(document)          The score of a document; higher is better.
   scores(documents)        An array of the scores of several documents.
   code(feature, category)  The number that stands for a category; null for one that training did
                            not have.
   features, categories     Names of the features in their order, and a Map from the names of
                            features to their lists of categories.

   A document is an object that has every name in features, categories as they are; or an array of
   numbers in the order of features, with codes of categories. A missing value is null, undefined or
   NaN, and so is a category that training did not have. Instead of the features title_0, title_1
   and so on, an object may have an embedding, an array of these numbers, as title. */

const model = JSON.parse('{"features":[],"categories":[],"constant":0,"single":false,"missing_up_to":-1,"rule":"exact","linear":[],"trees":[]}');

export const features = model.features;
export const categories = new Map(model.categories.map(([j, levels]) => [features[j], levels]));
const codes = new Map(
  model.categories.map(([j, levels]) => [j, new Map(levels.map((level, code) => [level, code]))]),
);
/* Features by the name of the embedding that they may be the entries of. */
const embeddings = new Map();
const names = new Set(features);
for (const name of features) {
  const base = name.slice(0, -2);
  if (!name.endsWith("_0") || names.has(base)) continue;
  const entries = [name];
  while (names.has(`${base}_${entries.length}`)) entries.push(`${base}_${entries.length}`);
  embeddings.set(base, entries);
}
/* A tree is three arrays over its nodes: the feature (its complement where missing values go left,
   null in leaves); the threshold, the set of codes that go left, or the value of a leaf; and the
   right child. The left child is the next node. */
const trees = model.trees.map(([feature, number, right]) => [
  feature,
  number.map((n) => (Array.isArray(n) ? new Set(n) : n)),
  right,
]);

export function score(document) {
  const values = valuesOf(document);
  const isMissing = (value) => value === null || Math.abs(value) <= model.missing_up_to;
  let total = model.constant;
  for (const [feature, number, right] of trees) {
    let node = 0;
    for (let j = feature[0]; j !== null; j = feature[node]) {
      const limit = number[node];
      let value = values[j >= 0 ? j : ~j];
      let isLeft = j < 0;
      if (limit instanceof Set) {
        if (!(model.rule === "single" ? isMissing(value) : value === null)) {
          isLeft = limit.has(codeOf(value));
        }
      } else if (!isMissing(value)) {
        isLeft = value <= limit;
      }
      node = isLeft ? node + 1 : right[node];
    }
    total += number[node];
    if (model.single) total = Math.fround(total);
  }
  for (const [j, factor, offset] of model.linear) {
    if (values[j] !== null) total += factor * values[j] + offset;
  }
  return total;
}

export function scores(documents) {
  return Array.from(documents, (document) => score(document));
}

export function code(feature, category) {
  return codes.get(features.indexOf(feature))?.get(category) ?? null;
}

function valuesOf(document) {
  let values = document;
  if (!Array.isArray(document) && !ArrayBuffer.isView(document)) {
    document = withEntries(document);
    values = features.map((name, j) => {
      if (!Object.hasOwn(document, name)) {
        throw new TypeError(`document must have every feature, null if missing; lacks ${JSON.stringify(name)}`);
      }
      const value = document[name];
      return codes.has(j) ? (codes.get(j).get(value) ?? null) : value;
    });
  } else if (document.length !== features.length) {
    throw new TypeError(`document must have ${features.length} values, those of features; got ${document.length}`);
  }
  return Array.from(values, (value, j) => {
    if (value === null || value === undefined || Number.isNaN(value)) return null;
    if (typeof value === "boolean") return Number(value);
    if (typeof value !== "number") {
      throw new TypeError(`${JSON.stringify(features[j])} must be a number or null; got ${JSON.stringify(String(value))}`);
    }
    return value;
  });
}

/* A document in which the entries of its embeddings have names of their own. */
function withEntries(document) {
  const further = [];
  for (const [base, entries] of embeddings) {
    if (!Object.hasOwn(document, base) || Object.hasOwn(document, entries[0])) continue;
    const values = document[base];
    const isMissing = values === null || values === undefined || Number.isNaN(values);
    if (typeof values === "number" && !isMissing) continue; // another value of this name, which is no feature
    if (!isMissing && !((Array.isArray(values) || ArrayBuffer.isView(values)) && values.length === entries.length)) {
      const got = Array.isArray(values) ? `one of ${values.length}` : JSON.stringify(values);
      throw new TypeError(`${JSON.stringify(base)} must be an array of ${entries.length} numbers; got ${got}`);
    }
    entries.forEach((name, i) => further.push([name, isMissing ? null : values[i]]));
  }
  return further.length ? { ...document, ...Object.fromEntries(further) } : document;
}

function codeOf(value) {
  if (model.rule === "truncated") return Math.trunc(value);
  return model.rule === "single" ? Math.floor(Math.fround(value)) : value;
}
