/* A ranker exported by treerank: an ES module for Node.js, Deno, Bun and browsers.

   score(document)          The score of a document; higher is better.
   code(feature, category)  The number that stands for a category; null for one that training did
                            not have.
   features, categories     Names of the features in their order, and a Map from the names of
                            features to their lists of categories.

   A document is an object that has every name in features, categories as they are; or an array of
   numbers in the order of features, with codes of categories. A missing value is null, undefined or
   NaN, and so is a category that training did not have. */

const model = JSON.parse('{"features":[],"categories":[],"constant":0,"single":false,"missing_up_to":-1,"rule":"exact","linear":[],"trees":[]}');

export const features = model.features;
export const categories = new Map(model.categories.map(([j, levels]) => [features[j], levels]));
const codes = new Map(
  model.categories.map(([j, levels]) => [j, new Map(levels.map((level, code) => [level, code]))]),
);
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

export function code(feature, category) {
  return codes.get(features.indexOf(feature))?.get(category) ?? null;
}

function valuesOf(document) {
  let values = document;
  if (!Array.isArray(document) && !ArrayBuffer.isView(document)) {
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

function codeOf(value) {
  if (model.rule === "truncated") return Math.trunc(value);
  return model.rule === "single" ? Math.floor(Math.fround(value)) : value;
}
