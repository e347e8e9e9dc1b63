// What the theme leaves out for users of screen readers and keyboards.
document.addEventListener("DOMContentLoaded", () => {
  const each = (selector, change) => document.querySelectorAll(selector).forEach(change);
  each("p.caption[role=heading]", (caption) => caption.setAttribute("aria-level", "2"));
  each("aside.sidebar-drawer", (part) => part.setAttribute("aria-label", "Pages"));
  each("aside.toc-drawer", (part) => part.setAttribute("aria-label", "On this page"));
  each("pre, .table-wrapper, .figure-svg, .formula", (part) => { part.tabIndex = 0; }); // they scroll
  each(".sphx-glr-thumbcontainer a", (link) => link.setAttribute("aria-label", link.textContent));
  if (!document.querySelector("h1")) { // the page of searches
    const title = document.createElement("h1");
    title.textContent = document.title;
    document.querySelector("article")?.prepend(title);
  }
});
