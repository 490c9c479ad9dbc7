/* Reads the decision curve at the threshold of the slider: a point on the curve, counts in words. */
(() => {
  "use strict";
  const part = (id) => document.getElementById(`decision-${id}`);
  const curve = JSON.parse(part("data").textContent);
  const slider = part("threshold"), words = part("words"), shown = part("shown");
  const drawing = document.querySelector("#decision svg.drawing");
  const point = drawing.appendChild(document.createElementNS(drawing.namespaceURI, "circle"));
  const at = ([zero, one], value) => zero + (one - zero) * value;
  const fixed = (value) => value.toFixed(3).replace(/^-(0\.000)$/, "$1").replace("-", "\u2212");
  const percent = (value) => `${+(100 * value).toPrecision(3)} %`;
  const rows = (n) => n.toLocaleString("en");

  const read = () => {
    const i = Number(slider.value), t = curve.threshold[i];
    const found = curve.truePositive[i], wrong = curve.falsePositive[i], odds = t / (1 - t);
    const benefit = (found - wrong * odds) / curve.n;
    const all = (curve.nPositive - (curve.n - curve.nPositive) * odds) / curve.n;
    const [low, high] = curve.limits;
    point.setAttribute("cx", at(curve.places.x, t));
    point.setAttribute("cy", at(curve.places.y, Math.min(high, Math.max(low, benefit))));
    shown.textContent = percent(t);
    slider.setAttribute("aria-valuetext", percent(t));
    words.textContent = `Acted on: ${rows(found + wrong)} of ${rows(curve.n)} rows `
      + `(${percent((found + wrong) / curve.n)}). True positives: ${rows(found)}, `
      + `false positives: ${rows(wrong)}, missed: ${rows(curve.nPositive - found)}. `
      + `Net benefit: ${fixed(benefit)}; of acting on all rows ${fixed(all)}, on none 0.`;
  };

  point.setAttribute("class", "point");
  point.setAttribute("r", "5");
  Object.assign(slider, {min: 0, max: curve.threshold.length - 1, step: 1, value: curve.first});
  slider.addEventListener("input", read);
  part("slider").hidden = false;
  read();
})();
