/* The order of search results: what a guide explains comes before the name of an attribute. */
const WEIGHTS = [
  [/^(start|guide\/)/, 2],
  [/^(how|move|gallery)\//, 1],
  [/^project\/(citing|contributing)/, 2],
  [/^glossary/, 0.25],
  [/^(generated|project)\//, 0.5],
];
var Scorer = {
  score: ([docname, title, anchor, description, score]) => {
    const rule = WEIGHTS.find(([pages]) => pages.test(docname));
    const heading = anchor ? 1.1 : 1; // a heading of these words comes before a page that has them
    return score * heading * (rule ? rule[1] : 1);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
