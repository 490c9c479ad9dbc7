// What if: predictions of the networks in this page, for values that its reader chooses.
//
// The JSON block of the page has networks, likelihood, columns, and rows to start from. A value is
// a number, the place of a level, null where it is missing, or -1 for a level that training had
// not; that of a text column is the list of its inputs. Nothing is requested from anywhere.
"use strict";
(() => {

// ---------------------------------------------------------------- special functions

const LANCZOS = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
  -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
  1.5056327351493116e-7,
];
const MOST_TERMS = 20000;
const LARGE = 1000; // shapes from which integrals are taken by quadrature
const TINY = 1e-300;

function logGamma(x) {
  if (x < 0.5) return Math.log(Math.PI / Math.abs(Math.sin(Math.PI * x))) - logGamma(1 - x);
  const t = x + 6.5;
  let sum = LANCZOS[0];
  for (let i = 1; i < LANCZOS.length; i++) sum += LANCZOS[i] / (x - 1 + i);
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}

/** log Gamma(b + a) - log Gamma(b), in which nothing cancels where b is large. */
function logGammaRise(b, a) {
  if (b <= LARGE) return logGamma(b + a) - logGamma(b);
  const correction = (x) => 1 / (12 * x) - 1 / (360 * x ** 3);
  const main = a * Math.log(b) + (b + a - 0.5) * Math.log1p(a / b) - a;
  return main + correction(b + a) - correction(b);
}

/** Nodes and weights of Gauss and Legendre on [-1, 1]. */
function legendre(n) {
  return Array.from({ length: n }, (_, i) => {
    let x = Math.cos((Math.PI * (i + 0.75)) / (n + 0.5));
    let derivative = 1;
    for (let step = 0; step < 50; step++) {
      let [before, now] = [1, x];
      for (let k = 2; k <= n; k++) [before, now] = [now, ((2 * k - 1) * x * now - (k - 1) * before) / k];
      derivative = (n * (x * now - before)) / (x * x - 1);
      const move = now / derivative;
      x -= move;
      if (Math.abs(move) < 1e-15) break;
    }
    return [x, 2 / ((1 - x * x) * derivative * derivative)];
  });
}

const NODES = legendre(40);

function integral(f, from, to) {
  const middle = 0.5 * (from + to);
  const half = 0.5 * (to - from);
  return half * NODES.reduce((sum, [x, weight]) => sum + weight * f(middle + half * x), 0);
}

/** Upper tail of a density with this centre and deviation, whose logarithm is `log`. */
function tailByQuadrature(log, x, centre, deviation, least, most) {
  if (Math.abs(x - centre) > 11 * deviation) return x > centre ? 0 : 1;
  const density = (t) => Math.exp(log(t));
  if (x >= centre) return integral(density, x, Math.min(most, Math.max(x, centre) + 11 * deviation));
  return 1 - integral(density, Math.max(least, Math.min(x, centre) - 11 * deviation), x);
}

/** Q(a, x): the upper regularised gamma function. */
function gammaTail(a, x) {
  if (!(x > 0)) return 1;
  if (a > LARGE) {
    const mode = a - 1;
    const constant = -0.5 * Math.log(2 * Math.PI * mode) - 1 / (12 * mode);
    const log = (t) => mode * (Math.log1p((t - mode) / mode) - (t - mode) / mode) + constant;
    return tailByQuadrature(log, x, mode, Math.sqrt(a), TINY, Infinity);
  }
  if (x > a + 800) return 0; // it underflows
  const front = Math.exp(a * Math.log(x) - x - logGamma(a));
  return x < a + 1 ? 1 - front * gammaSeries(a, x) : front * gammaFraction(a, x);
}

function gammaSeries(a, x) {
  let term = 1 / a;
  let sum = term;
  for (let n = 1; n < MOST_TERMS && term > 1e-17 * sum; n++) {
    term *= x / (a + n);
    sum += term;
  }
  return sum;
}

/** By the method of Lentz. */
function gammaFraction(a, x) {
  let b = x + 1 - a;
  let c = 1 / TINY;
  let d = 1 / b;
  let h = d;
  for (let i = 1; i < MOST_TERMS; i++) {
    const factor = -i * (i - a);
    b += 2;
    d = 1 / nonzero(factor * d + b);
    c = nonzero(b + factor / c);
    h *= c * d;
    if (Math.abs(c * d - 1) < 4e-16) break;
  }
  return h;
}

function nonzero(x) {
  return Math.abs(x) < TINY ? TINY : x;
}

/** I_x(a, b): the regularised beta function. `rest` is 1 - x, with all its digits. */
function betaCumulative(a, b, x, rest = 1 - x) {
  if (!(x > 0)) return 0;
  if (!(rest > 0)) return 1;
  if (a > b) return 1 - betaCumulative(b, a, rest, x);
  const constant = logGammaRise(b, a) - logGamma(a);
  if (a > LARGE) {
    const log = (t) => constant + (a - 1) * Math.log(t) + (b - 1) * Math.log1p(-t);
    const deviation = Math.sqrt((a * b) / (a + b + 1)) / (a + b);
    return 1 - tailByQuadrature(log, x, a / (a + b), deviation, TINY, 1);
  }
  const mean = b * x;
  if (b > LARGE && mean - a > 12 * Math.sqrt(mean) + 12) return 1;
  const front = Math.exp(constant + a * Math.log(x) + b * Math.log1p(-x));
  if (b > LARGE) return (front * betaSeries(a, b, x)) / a;
  if (x < (a + 1) / (a + b + 2)) return (front * betaFraction(a, b, x)) / a;
  return 1 - (front * betaFraction(b, a, rest)) / b;
}

/** Of positive terms, few where b is large and b x is not. */
function betaSeries(a, b, x) {
  let term = 1;
  let sum = 1;
  for (let k = 0; k < MOST_TERMS && term > 1e-17 * sum; k++) {
    term *= ((a + b + k) / (a + 1 + k)) * x;
    sum += term;
  }
  return sum;
}

/** By the method of Lentz. */
function betaFraction(a, b, x) {
  let c = 1;
  let d = 1 / nonzero(1 - ((a + b) * x) / (a + 1));
  let h = d;
  for (let m = 1; m < MOST_TERMS; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / nonzero(1 + even * d);
    c = nonzero(1 + even / c);
    h *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / nonzero(1 + odd * d);
    c = nonzero(1 + odd / c);
    h *= d * c;
    if (Math.abs(d * c - 1) < 4e-16) break;
  }
  return h;
}

function sigmoid(x) {
  return x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x));
}

/** log(1 + e^x) */
function softplus(x) {
  return Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
}

function clamped(x, low, high) {
  return Math.min(Math.max(x, low), high);
}

/** Where an increasing function crosses 0 between two points, by the method of Chandrupatla. */
function root(f, low, high, tolerance) {
  let [a, b, fa, fb] = [low, high, f(low), f(high)];
  let [c, fc, t] = [a, fa, 0.5];
  for (let i = 0; i < 200; i++) {
    const x = a + t * (b - a);
    const fx = f(x);
    if (Math.sign(fx) === Math.sign(fa)) [c, fc] = [a, fa];
    else [c, fc, b, fb] = [b, fb, a, fa];
    [a, fa] = [x, fx];
    const least = Math.max(tolerance, 4e-16 * Math.abs(a));
    if (fx === 0 || Math.abs(b - a) < 2 * least) break;
    const ratio = (a - b) / (c - b);
    const share = (fa - fb) / (fc - fb);
    const curved = share * share < ratio && (1 - share) * (1 - share) < 1 - ratio;
    t = curved
      ? (fa / (fb - fa)) * (fc / (fb - fc)) + ((c - a) / (b - a)) * (fa / (fc - fa)) * (fb / (fc - fb))
      : 0.5;
    const edge = least / Math.abs(b - a);
    t = clamped(t, edge, 1 - edge);
  }
  return Math.abs(fa) < Math.abs(fb) ? a : b;
}

// ---------------------------------------------------------------- networks

const ACTIVATIONS = {
  tanh: Math.tanh,
  relu: (x) => (x > 0 ? x : 0),
  sigmoid,
  silu: (x) => x * sigmoid(x),
};

/** Base64 in the alphabet of URLs -> numbers in single precision, little-endian. */
function floats(text) {
  const bytes = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  const view = new DataView(new ArrayBuffer(bytes.length));
  for (let i = 0; i < bytes.length; i++) view.setUint8(i, bytes.charCodeAt(i));
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
}

/** Outputs and own parameters of the likelihood, of each network: [{out, own}]. */
function passed(networks, inputs) {
  const { sizes, n, n_extra: nExtra, all } = networks;
  const activation = ACTIVATIONS[networks.activation];
  const size = all.length / n;
  return Array.from({ length: n }, (_, j) => {
    const weights = all.subarray(j * size, (j + 1) * size);
    return { out: forward(sizes, activation, weights, inputs), own: weights.subarray(size - nExtra) };
  });
}

function forward(sizes, activation, weights, inputs) {
  let [values, at] = [inputs, 0];
  for (let layer = 1; layer < sizes.length; layer++) {
    const [nIn, nOut] = [sizes[layer - 1], sizes[layer]];
    const following = new Float64Array(nOut);
    for (let o = 0; o < nOut; o++) {
      let sum = weights[at + nIn * nOut + o];
      for (let i = 0; i < nIn; i++) sum += weights[at + o * nIn + i] * values[i];
      following[o] = layer === sizes.length - 1 ? sum : activation(sum);
    }
    at += (nIn + 1) * nOut;
    values = following;
  }
  return values;
}

// ---------------------------------------------------------------- columns -> inputs

const PERIODS = { season: 365.2425, weekday: 7, hour: 1 }; // days

function standardised(column, value) {
  return [value === null ? 0 : (shaped(column, value) - column.mean) / column.std];
}

/** sign(x) log(1 + |x| / u) of numbers with heavy tails. */
function shaped(column, value) {
  if (column.log_unit === undefined) return value;
  return Math.sign(value) * softplus(Math.log(Math.abs(value)) - column.log_unit);
}

function unshaped(column, shape) {
  if (column.log_unit === undefined) return shape;
  return Math.sign(shape) * Math.exp(column.log_unit) * Math.expm1(Math.abs(shape));
}

function dateInputs(column, value) {
  return column.parts.flatMap((part) => {
    if (value === null) return part === "elapsed" ? [0] : [0, 0];
    if (part === "elapsed") return standardised(column, value);
    const angle = (2 * Math.PI * value) / PERIODS[part];
    return [Math.sin(angle), Math.cos(angle)];
  });
}

/** Indicators; a missing level has the shares of all, a new one counts as a rare one. */
function categoryInputs(column, value) {
  const last = column.shares.length - 1;
  if (value === null || (value < 0 && !column.pooled)) return column.shares;
  const own = value < 0 ? last : Math.min(value, column.n_own);
  return column.shares.map((_, i) => (i === own ? 1 : 0));
}

function effectInputs(column, value) {
  return value === null || value < 0 ? column.effects[0].map(() => 0) : column.effects[value];
}

const KINDS = {
  number: standardised,
  "log-number": standardised,
  duration: standardised,
  date: dateInputs,
  category: categoryInputs,
  "many-levels": effectInputs,
  text: (column, value) => value ?? Array(column.n_inputs).fill(0),
};

/** Whether a value counts as missing: new levels too, where no rare ones share an input. */
function isMissing(column, value) {
  const levels = column.kind === "category" || column.kind === "many-levels";
  return value === null || (levels && value < 0 && !column.pooled);
}

/** The inputs of the networks: those of each column, then whether flagged ones are missing. */
function encoded(columns, values) {
  const inputs = columns.flatMap((column, i) => KINDS[column.kind](column, values[i]));
  const flags = columns.flatMap((column, i) => (column.flag ? [Number(isMissing(column, values[i]))] : []));
  return Float32Array.from([...inputs, ...flags]);
}

// ---------------------------------------------------------------- likelihoods of numbers
//
// A component is the distribution of y by one network. Continuous ones live on a coordinate u on
// which they are smooth: y itself, log y or logit y. `cdf` and `pdf` are of u.

const NORMAL = {
  cdf(z) {
    const tail = 0.5 * gammaTail(0.5, 0.5 * z * z);
    return z < 0 ? tail : 1 - tail;
  },
  pdf: (z) => Math.exp(-0.5 * z * z) / Math.sqrt(2 * Math.PI),
};
const LAPLACE = {
  cdf: (z) => (z < 0 ? 0.5 * Math.exp(z) : 1 - 0.5 * Math.exp(-z)),
  pdf: (z) => 0.5 * Math.exp(-Math.abs(z)),
};
const EXTREME = {
  cdf: (z) => -Math.expm1(-Math.exp(z)),
  pdf: (z) => Math.exp(z - Math.exp(z)),
};
const LOGISTIC = { cdf: sigmoid, pdf: (z) => sigmoid(z) * sigmoid(-z) };
const STUDENT = {
  cdf(z, nu) {
    const tail = 0.5 * betaCumulative(0.5 * nu, 0.5, nu / (nu + z * z), (z * z) / (nu + z * z));
    return z < 0 ? tail : 1 - tail;
  },
  pdf(z, nu) {
    const constant = logGamma(0.5 * (nu + 1)) - logGamma(0.5 * nu) - 0.5 * Math.log(nu * Math.PI);
    return Math.exp(constant - 0.5 * (nu + 1) * Math.log1p((z * z) / nu));
  },
};

/** Scale of the noise: learned, or with the second output. */
function noiseScale(settings, out, own) {
  if (settings.sensitivity === undefined) return Math.exp(own[0]);
  return settings.floor + Math.exp(own[0] + settings.sensitivity * out[1]);
}

function shifted(shape, location, scale, mean, freedom) {
  return {
    mean,
    cdf: (u) => shape.cdf((u - location) / scale, freedom),
    pdf: (u) => shape.pdf((u - location) / scale, freedom) / scale,
    centre: location,
    width: scale,
  };
}

/** y = offset + unit (output + scale z). */
function additive(shape, scaleOf, freedomOf = () => undefined) {
  const component = (settings, [offset, unit]) => ({ out, own }) => {
    const location = offset + unit * out[0];
    return shifted(shape, location, unit * scaleOf(settings, out, own), location, freedomOf(own));
  };
  return { coordinate: PLAIN, component };
}

/** log y = log unit + centre + spread (output + scale z). */
function multiplicative(shape, scaleOf, logMean) {
  const component = (settings, [, unit]) => ({ out, own }) => {
    const location = Math.log(unit) + (settings.centre ?? 0) + settings.spread * out[0];
    const scale = settings.spread * scaleOf(settings, out, own);
    return shifted(shape, location, scale, Math.exp(location + logMean(scale)));
  };
  return { coordinate: LOGARITHM, component };
}

/** The scale of log-logistic times, kept below 1/2 on the scale of log T. */
function boundedScale(settings, out, own) {
  return Math.exp(own[0] - softplus(own[0] + Math.log(settings.spread / 0.5)));
}

function betaComponent(settings) {
  return ({ out, own }) => {
    const logit = settings.centre + settings.spread * out[0];
    const precision = Math.exp(own[0]);
    const [mean, rest] = [sigmoid(logit), sigmoid(-logit)];
    const [a, b] = [Math.max(mean * precision, TINY), Math.max(rest * precision, TINY)];
    const constant = logGamma(precision) - logGamma(a) - logGamma(b);
    return {
      mean,
      cdf: (u) => betaCumulative(a, b, sigmoid(u), sigmoid(-u)),
      pdf: (u) => Math.exp(constant - a * softplus(-u) - b * softplus(u)),
      centre: logit,
      width: 1 / Math.sqrt(mean * rest * (1 + precision)) + 0.1,
    };
  };
}

const FARTHEST = 40; // of the logarithm of a mean count from the typical one
const MOST_LOG_R = 30;

function meanCount(settings, out) {
  return Math.exp(settings.centre + clamped(settings.spread * out[0], -FARTHEST, FARTHEST));
}

function poissonComponent(settings) {
  return ({ out }) => {
    const mean = meanCount(settings, out);
    return {
      mean,
      variance: mean,
      cdf: (y) => (y < 0 ? 0 : gammaTail(Math.floor(y) + 1, mean)),
      pdf: (y) => Math.exp(y * Math.log(mean) - mean - logGamma(y + 1)),
    };
  };
}

function negativeBinomialComponent(settings) {
  return ({ out, own }) => {
    const mean = meanCount(settings, out);
    const r = Math.exp(clamped(own[0], -MOST_LOG_R, MOST_LOG_R));
    const [stop, go] = [r / (r + mean), mean / (r + mean)];
    return {
      mean,
      variance: mean + (mean * mean) / r,
      cdf: (y) => (y < 0 ? 0 : betaCumulative(r, Math.floor(y) + 1, stop, go)),
      pdf: (y) =>
        Math.exp(logGamma(y + r) - logGamma(r) - logGamma(y + 1) + r * Math.log(stop) + y * Math.log(go)),
    };
  };
}

const PLAIN = { value: (u) => u, place: (y) => y, slope: () => 1 };
const LOGARITHM = { value: Math.exp, place: Math.log, slope: (y) => 1 / y };
const LOGIT = {
  value: sigmoid,
  place: (y) => Math.log(y) - Math.log1p(-y),
  slope: (y) => 1 / (y * (1 - y)),
};
const given = (settings) => settings.sigma;
const freedom = (own) => 2 + Math.exp(own[1]);

const NUMBERS = {
  Gaussian: additive(NORMAL, given),
  KnownGaussian: additive(NORMAL, given),
  LearnedGaussian: additive(NORMAL, noiseScale),
  RowGaussian: additive(NORMAL, noiseScale),
  StudentT: additive(STUDENT, noiseScale, freedom),
  RowStudentT: additive(STUDENT, noiseScale, freedom),
  LaplaceNoise: additive(LAPLACE, noiseScale),
  RowLaplaceNoise: additive(LAPLACE, noiseScale),
  LogNormal: multiplicative(NORMAL, noiseScale, (s) => 0.5 * s * s),
  RowLogNormal: multiplicative(NORMAL, noiseScale, (s) => 0.5 * s * s),
  CensoredWeibull: multiplicative(EXTREME, noiseScale, (s) => logGamma(1 + s)),
  CensoredLogLogistic: multiplicative(LOGISTIC, boundedScale, (s) =>
    Math.log((Math.PI * s) / Math.sin(Math.PI * s)),
  ),
  Beta: { coordinate: LOGIT, component: betaComponent },
  Poisson: { whole: true, component: poissonComponent },
  NegativeBinomial: { whole: true, component: negativeBinomialComponent },
};

// ---------------------------------------------------------------- mixtures of networks

function weighted(weight, terms) {
  let sum = 0;
  for (let j = 0; j < weight.length; j++) sum += weight[j] * terms[j];
  return sum;
}

/** The smallest of the values below or at which networks have this share of the weight. */
function quantileOf(values, weight, level) {
  const order = values.map((_, j) => j).sort((i, j) => values[i] - values[j]);
  let below = 0;
  for (const j of order) {
    below += weight[j];
    if (below >= level - 1e-12) return values[j];
  }
  return values[order[order.length - 1]];
}

function mixture(parts, weight) {
  return {
    cdf: (u) => weighted(weight, parts.map((part) => part.cdf(u))),
    pdf: (u) => weighted(weight, parts.map((part) => part.pdf(u))),
  };
}

/** The distribution of y: mean, means of networks, quantiles and density. */
function numberPrediction(family, parts, weight) {
  const means = parts.map((part) => part.mean);
  const { cdf, pdf } = mixture(parts, weight);
  const common = { mean: weighted(weight, means), means, whole: Boolean(family.whole) };
  if (family.whole) return { ...common, density: pdf, quantile: (p) => countQuantile(parts, weight, cdf, p) };
  const { value, place, slope } = family.coordinate;
  return {
    ...common,
    density: (y) => pdf(place(y)) * slope(y),
    quantile: (p) => value(smoothQuantile(parts, cdf, p)),
  };
}

function smoothQuantile(parts, cdf, level) {
  const widest = Math.max(...parts.map((part) => part.width));
  let low = Math.min(...parts.map((part) => part.centre)) - widest;
  let high = Math.max(...parts.map((part) => part.centre)) + widest;
  const size = high - low;
  if (!Number.isFinite(size)) return NaN;
  for (let step = size; cdf(low) > level; step *= 2) low -= step;
  for (let step = size; cdf(high) < level; step *= 2) high += step;
  const narrowest = Math.min(...parts.map((part) => part.width));
  return root((u) => cdf(u) - level, low, high, 1e-10 * narrowest);
}

/** The smallest count that the distribution function takes to the level. */
function countQuantile(parts, weight, cdf, level) {
  const mean = weighted(weight, parts.map((part) => part.mean));
  const variance = weighted(weight, parts.map((part) => part.variance + (part.mean - mean) ** 2));
  if (!Number.isFinite(variance)) return NaN;
  let [low, high] = [-1, Math.ceil(mean)]; // cdf(low) < level <= cdf(high)
  const first = Math.ceil(Math.sqrt(variance)) + 1;
  if (cdf(high) < level) {
    for (let step = first; cdf(high) < level; step *= 2) [low, high] = [high, high + step];
  } else {
    for (let step = first; high - step > low; step *= 2) {
      if (cdf(high - step) < level) low = high - step;
      else high -= step;
    }
  }
  while (high - low > 1) {
    const middle = Math.floor(0.5 * (low + high));
    if (middle === low || middle === high) break; // beyond whole numbers in double precision
    if (cdf(middle) < level) low = middle;
    else high = middle;
  }
  return high;
}

// ---------------------------------------------------------------- likelihoods of classes

function softmax(out) {
  const most = Math.max(...out);
  const sizes = Array.from(out, (z) => Math.exp(z - most));
  const sum = sizes.reduce((a, b) => a + b, 0);
  return sizes.map((size) => size / sum);
}

/** Cumulative logits with learned cuts: sigmoid(upper) sigmoid(-lower) (1 - e^-gap). */
function ordered(settings, out, own) {
  const gaps = Array.from(own.subarray(1), (log) => Math.exp(clamped(log, -80, 40)));
  const cuts = [own[0]];
  gaps.forEach((gap, i) => cuts.push(cuts[i] + gap));
  const edges = cuts.map((cut) => cut - settings.scale * out[0]);
  return Array.from({ length: edges.length + 1 }, (_, c) => {
    const upper = c < edges.length ? sigmoid(edges[c]) : 1;
    const lower = c > 0 ? sigmoid(-edges[c - 1]) : 1;
    const within = c > 0 && c < edges.length ? -Math.expm1(-gaps[c - 1]) : 1;
    return upper * lower * within;
  });
}

const CLASSES = {
  Bernoulli: (settings, out) => [sigmoid(-out[0]), sigmoid(out[0])],
  Categorical: (settings, out) => softmax(out),
  Ordinal: ordered,
};

/** Average probability of each class, and between what 90 % of the networks are. */
function classPrediction(settings, outputs, weight) {
  const each = outputs.map(({ out, own }) => CLASSES[settings.kind](settings, out, own));
  const raw = each[0].map((_, c) => weighted(weight, each.map((p) => p[c])));
  const total = raw.reduce((a, b) => a + b, 0);
  const bands = raw.map((_, c) => {
    const values = each.map((p) => p[c]);
    return [quantileOf(values, weight, 0.05), quantileOf(values, weight, 0.95)];
  });
  return { probability: raw.map((p) => p / total), bands };
}

// ---------------------------------------------------------------- predictions

function model(data) {
  const sum = data.networks.weight.reduce((a, b) => a + b, 0);
  const weight = data.networks.weight.map((times) => times / sum);
  const networks = { ...data.networks, all: floats(data.networks.numbers) };
  const family = NUMBERS[data.likelihood.kind];
  const component = family?.component(data.likelihood, data.units);
  return (values) => {
    const outputs = passed(networks, encoded(data.columns, values));
    if (!family) return classPrediction(data.likelihood, outputs, weight);
    const found = numberPrediction(family, outputs.map(component), weight);
    const ends = [0.05, 0.95].map((level) => quantileOf(found.means, weight, level));
    const [low90, low50, high50, high90] = [0.05, 0.25, 0.75, 0.95].map(found.quantile);
    const edges = [0.01, 0.99].map(found.quantile);
    return { ...found, edges, networks: ends, interval50: [low50, high50], interval90: [low90, high90] };
  };
}

// ---------------------------------------------------------------- words

const MINUS = "\u2212";

/** A number with about four digits. */
function shown(x) {
  if (!Number.isFinite(x)) return x > 0 ? "\u221e" : "-";
  const size = Math.abs(x);
  const sign = x < 0 ? MINUS : "";
  if (size >= 1e7 || (size > 0 && size < 5e-4)) return sign + size.toExponential(2).replace("-", MINUS);
  const digits = Math.max(0, 3 - (size >= 10) - (size >= 100) - (size >= 1000));
  const form = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return sign + size.toLocaleString("en-US", form);
}

function percent(share) {
  const value = 100 * share;
  return `${value < 0.1 && value > 0 ? "< 0.1" : value.toFixed(value < 99.95 && value >= 10 ? 0 : 1)} %`;
}

function span([low, high], write = shown) {
  return `${write(low)} to ${write(high)}`;
}

function wholeNumber(x) {
  return x.toLocaleString("en-US", { maximumFractionDigits: 0 });
}

function cut(text, most = 60) {
  return text.length > most ? `${text.slice(0, most - 1)}\u2026` : text;
}

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  return filled(made, attributes, children);
}

function filled(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// ---------------------------------------------------------------- the curve

const FRAME = { left: 14, right: 346, top: 12, bottom: 168, width: 360 };
const N_POINTS = 161;
const MOST_COUNTS = 60; // that have a bar each

/** About five round numbers between two. */
function ticks(low, high) {
  const wanted = (high - low) / 6;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = [1, 2, 5, 10].map((size) => size * power).find((size) => size >= wanted);
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return Array.from({ length: count }, (_, i) => [(first + i) * step, digits]);
}

function tickText([value, digits]) {
  if (Math.abs(value) >= 1e6) return value.toExponential(1).replace("-", MINUS).replace("+", "");
  const form = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return value.toLocaleString("en-US", form).replace("-", MINUS);
}

const FARTHEST_TRUTH = 3; // widths of the prediction off which a truth is still drawn

/** The values that the axis spans: nearly all of the prediction now and at the start, the truth. */
function spanned(now, start, truth) {
  const ends = [...now.edges, ...start.edges];
  let [low, high] = [Math.min(...ends), Math.max(...ends)];
  const reach = FARTHEST_TRUTH * (high - low);
  if (truth !== null && truth > low - reach && truth < high + reach) {
    [low, high] = [Math.min(low, truth), Math.max(high, truth)];
  }
  if (now.whole) return [Math.max(-0.5, low - 1.5), high + 1.5];
  const room = 0.06 * (high - low) || 1;
  const bounded = now.least !== undefined;
  return [bounded ? Math.max(now.least, low - room) : low - room, Math.min(now.most ?? Infinity, high + room)];
}

/** Points of the density, or of the probabilities of counts: [[y, density]]. */
function points(found, low, high) {
  const size = (high - low) / (N_POINTS - 1);
  const places = Array.from({ length: N_POINTS }, (_, i) => low + (i + (i === 0) * 0.02) * size);
  if (found.whole) {
    const whole = [...new Set(places.map(Math.round))].filter((y) => y >= 0 && y < high);
    return whole.map((y) => [y, found.density(y)]);
  }
  return places.map((y) => [y, found.density(y)]);
}

function curve(svg, data) {
  const title = svg.querySelector("title");
  const part = (name, attributes, ...children) =>
    filled(document.createElementNS(svg.namespaceURI, name), attributes, children);

  return (now, start, truth, words) => {
    const [low, high] = spanned(now, start, truth);
    const x = (y) => FRAME.left + ((y - low) / (high - low)) * (FRAME.right - FRAME.left);
    const lines = [points(now, low, high), points(start, low, high)];
    const most = Math.max(...lines.map((line) => heightOf(line, now.whole)));
    const y = (density) => FRAME.bottom - (Math.min(density / most, 1) || 0) * (FRAME.bottom - FRAME.top);
    const bars = now.whole && high - low <= MOST_COUNTS;
    title.textContent = words;
    svg.setAttribute("aria-label", words);
    const marks = [
      ...(bars ? countBars(part, now, lines[0], x, y) : areas(part, now, lines[0], x, y)),
      ...(now === start ? [] : [part("path", { class: "was", d: bars ? steps(lines[1], x, y) : path(lines[1], x, y) })]),
      part("line", { class: "mean", x1: x(now.mean), x2: x(now.mean), y1: FRAME.top - 6, y2: FRAME.bottom }),
      ...axis(part, low, high, x, data.target),
      ...now.means.filter((m) => m >= low && m <= high).map((m) => rug(part, x(m))),
      ...(truth === null || truth < low || truth > high ? [] : truthMark(part, x(truth), x(now.mean))),
    ];
    svg.replaceChildren(title, ...marks);
  };
}

/** The highest density; of continuous ones away from the ends, where it may be infinite. */
function heightOf(line, whole) {
  const inner = (whole ? line : line.slice(2, -2)).map(([, density]) => density).filter(Number.isFinite);
  return Math.max(TINY, ...inner);
}

function path(line, x, y) {
  return line.map(([value, density], i) => `${i ? "L" : "M"}${fixed(x(value))} ${fixed(y(density))}`).join("");
}

/** A line across each count. */
function steps(line, x, y) {
  return line.map(([value, mass]) => `M${fixed(x(value - 0.45))} ${fixed(y(mass))}H${fixed(x(value + 0.45))}`).join("");
}

function fixed(number) {
  return number.toFixed(2);
}

/** The density with its intervals. */
function areas(part, found, line, x, y) {
  const under = ([from, to], name) => {
    const inside = line.filter(([value]) => value > from && value < to);
    const ends = [from, to].map((value) => [value, found.density(value)]);
    const whole = [ends[0], ...inside, ends[1]].filter(([, density]) => Number.isFinite(density));
    const base = fixed(FRAME.bottom);
    const back = [whole[whole.length - 1], whole[0]].map(([value]) => `L${fixed(x(value))} ${base}`);
    const closed = `${path(whole, x, y)}${back.join("")}Z`;
    return part("path", { class: name, d: closed });
  };
  return [
    under(found.interval90, "ninety"),
    under(found.interval50, "fifty"),
    part("path", { class: "density", d: path(line, x, y) }),
  ];
}

function countBars(part, found, line, x, y) {
  const width = Math.max(1.5, 0.7 * (x(1) - x(0)));
  return line.map(([value, density]) => {
    const inside = ([from, to]) => value >= from && value <= to;
    const name = inside(found.interval50) ? "fifty" : inside(found.interval90) ? "ninety" : "outside";
    const top = y(density);
    const box = { x: fixed(x(value) - width / 2), width: fixed(width), y: fixed(top), height: fixed(FRAME.bottom - top) };
    return part("rect", { class: name, ...box });
  });
}

function axis(part, low, high, x, target) {
  const line = part("line", { class: "axis", x1: FRAME.left, x2: FRAME.right, y1: FRAME.bottom, y2: FRAME.bottom });
  const numbers = ticks(low, high).map((tick) => {
    const place = clamped(x(tick[0]), 24, FRAME.width - 24);
    return part("text", { class: "tick", x: fixed(place), y: FRAME.bottom + 26 }, tickText(tick));
  });
  const name = { class: "name", x: (FRAME.left + FRAME.right) / 2, y: FRAME.bottom + 43 };
  return [line, ...numbers, part("text", name, cut(target, 40))];
}

function rug(part, place) {
  return part("line", { class: "rug", x1: fixed(place), x2: fixed(place), y1: FRAME.bottom + 3, y2: FRAME.bottom + 12 });
}

/** A line whose word is on the side where the mean is not. */
function truthMark(part, place, mean) {
  const left = place > FRAME.width - 60 || (place < mean && place > 60);
  const side = left ? "end" : "start";
  const away = left ? -4 : 4;
  return [
    part("line", { class: "truth", x1: fixed(place), x2: fixed(place), y1: FRAME.top + 8, y2: FRAME.bottom }),
    part("text", { class: "truth", x: fixed(place + away), y: FRAME.top + 16, "text-anchor": side }, "truth"),
  ];
}

// ---------------------------------------------------------------- the bars of classes

const MOST_BARS = 12;

function classBars(list, data) {
  return (now, start, truth) => {
    const order = now.probability.map((_, c) => c);
    const likely = (c) => Math.max(now.probability[c], start.probability[c]);
    const chosen = order.length <= MOST_BARS ? order : order.sort((a, b) => likely(b) - likely(a)).slice(0, MOST_BARS);
    const rows = chosen.map((c) => classBar(data.classes[c], now, start, c, truth));
    const more = data.classes.length - chosen.length;
    const rest = more ? [element("li", { class: "more" }, `${more} less probable classes`)] : [];
    list.replaceChildren(...rows, ...rest);
  };
}

function classBar(name, now, start, c, truth) {
  const [low, high] = now.bands[c];
  const at = (share) => `${(100 * share).toFixed(2)}%`;
  const track = element("span", { class: "track", "aria-hidden": "true" });
  const pieces = [
    ["fill", `width:${at(now.probability[c])}`],
    ["band", `left:${at(low)};width:${at(Math.max(high - low, 0.002))}`],
    ["was", `left:${at(start.probability[c])}`],
  ];
  pieces.forEach(([kind, style]) => track.append(styled(kind, style)));
  const label = truth === name ? `${cut(name)} (truth)` : cut(name);
  return element(
    "li",
    {},
    element("span", { class: "label" }, label),
    element("small", {}, `${percent(low)} to ${percent(high)}`),
    element("strong", {}, percent(now.probability[c])),
    track,
  );
}

function styled(kind, style) {
  const made = element("span", { class: kind });
  made.style.cssText = style;
  return made;
}

// ---------------------------------------------------------------- controls

const DAY = 86400000; // milliseconds

/** A number for a field, without the noise of its last digits. */
function plainNumber(value) {
  return String(Number(value.toPrecision(6)));
}

/** How values of a column are written in its field and on its slider. */
function notation(column) {
  if (column.kind !== "date") {
    return {
      type: "number",
      text: (value) => plainNumber(value / column.factor),
      read: (field) => (field.value === "" ? null : Number(field.value) * column.factor),
      said: (value) => `${plainNumber(value / column.factor)} ${column.unit}`.trim(),
    };
  }
  const length = { date: 10, "datetime-local": 16, time: 5 }[column.form];
  const iso = (days) => new Date(Math.round(days * DAY)).toISOString();
  const text = (days) => (column.form === "time" ? iso(days).slice(11, 16) : iso(days).slice(0, length));
  const whole = { date: (t) => `${t}T00:00Z`, "datetime-local": (t) => `${t}Z`, time: (t) => `1970-01-01T${t}Z` };
  const read = (field) => (field.value === "" ? null : Date.parse(whole[column.form](field.value)) / DAY);
  return { type: column.form, text, read, said: text };
}

/** Where a value is on the slider, and back: on the scale of the inputs. */
function scale(column) {
  if (column.log_unit === undefined) {
    const factor = column.factor ?? 1;
    return { low: column.low, high: column.high, step: column.step, to: (v) => v / factor, from: (p) => p * factor };
  }
  const [low, high] = [shaped(column, column.low), shaped(column, column.high)];
  const from = (place) => {
    const value = Number(unshaped(column, place).toPrecision(3));
    return clamped(value, column.low, column.high);
  };
  return { low, high, step: (high - low) / 200, to: (v) => shaped(column, v), from };
}

/** A slider and a field that keep in step. */
function numberControl(column, id, changed) {
  const { type, text, read, said } = notation(column);
  const { low, high, step, to, from } = scale(column);
  const range = { type: "range", min: low, max: high, step, "aria-label": `${cut(column.name)}, slider` };
  const slider = element("input", range);
  const plain = type === "number" ? { step: "any", placeholder: "missing" } : {};
  const field = element("input", { type, id, ...plain });
  const box = element("input", { type: "checkbox", id: `${id}_missing`, "aria-label": `${cut(column.name)} is missing` });
  const hint = element("small", { class: "hint", hidden: "hidden" }, "beyond 98 % of the training rows");
  let last = 0;
  const set = (value, source) => {
    if (value !== null) last = value;
    if (source !== field) field.value = value === null ? "" : text(value);
    if (source !== slider) slider.value = to(last);
    box.checked = value === null;
    slider.classList.toggle("absent", box.checked);
    slider.setAttribute("aria-valuetext", value === null ? "missing" : said(value));
    const place = value === null ? low : value / (column.factor ?? 1);
    hint.hidden = !(place < column.low || place > column.high);
  };
  const use = (value, source) => {
    set(value, source);
    changed(value);
  };
  slider.addEventListener("input", () => use(from(Number(slider.value)), slider));
  field.addEventListener("input", () => {
    const value = read(field);
    if (value === null ? column.missing && type === "number" && !field.validity.badInput : Number.isFinite(value)) use(value, field);
  });
  field.addEventListener("change", () => {
    if (field.value === "" && !box.checked) set(last);
  });
  box.addEventListener("change", () => use(box.checked ? null : last));
  const unit = column.unit ? [element("span", { class: "unit" }, column.unit)] : [];
  const missing = column.missing ? [element("label", { class: "missing", for: box.id }, box, "missing")] : [];
  return { set, parts: [element("span", { class: "field" }, field, ...unit), slider, ...missing, hint] };
}

/** A choice among levels, a new one, and none. */
function levelControl(column, id, changed) {
  const choice = element("select", { id });
  const options = column.levels.map((level, i) => [i, cut(level)]);
  options.push([-1, "another level, not in training"]);
  if (column.missing) options.push(["", "missing"]);
  options.forEach(([value, text]) => choice.append(element("option", { value }, text)));
  const set = (value) => {
    choice.value = value === null ? "" : String(value);
  };
  choice.addEventListener("change", () => changed(choice.value === "" ? null : Number(choice.value)));
  const more = column.n_levels > column.levels.length;
  const hint = `the ${column.levels.length} commonest of ${column.n_levels} levels`;
  return { set, parts: [choice, ...(more ? [element("small", { class: "hint" }, hint)] : [])] };
}

function textControl() {
  const words = element("span", { class: "hint" }, "free text, as in the row to start from");
  return { set: () => {}, parts: [words] };
}

function control(column, id, changed) {
  if (column.kind === "text") return textControl();
  if (column.levels) return levelControl(column, id, changed);
  return numberControl(column, id, changed);
}

// ---------------------------------------------------------------- the page

const N_FIRST = 8; // features that are seen at once
const PATIENCE = 500; // milliseconds before a change is said

function startName(start) {
  if (start.row === null) return "a typical row";
  const truth = typeof start.truth === "number" ? shown(start.truth) : start.truth;
  return `test row ${start.row} (truth ${cut(String(truth), 30)})`;
}

function numberWords(data, now, start, moved) {
  const change = now.mean - start.mean;
  const words = change >= 0 ? `+${shown(change)}` : shown(change);
  const write = now.whole ? wholeNumber : shown;
  return {
    now: [`${cut(data.target, 40)}: `, element("strong", {}, shown(now.mean)), ...(moved ? [` (${words})`] : [])],
    spread: `90 % interval ${span(now.interval90, write)}; 50 % interval ${span(now.interval50, write)}`,
  };
}

function classWords(data, now, start, moved) {
  const best = now.probability.indexOf(Math.max(...now.probability));
  const change = now.probability[best] - start.probability[best];
  const points = `${change >= 0 ? "+" : MINUS}${Math.abs(100 * change).toFixed(1)} points`;
  return {
    now: [
      `${cut(data.target, 40)}: `,
      element("strong", {}, cut(data.classes[best])),
      ` ${percent(now.probability[best])}`,
      ...(moved ? [` (${points})`] : []),
    ],
    spread: `90 % of the networks give it ${percent(now.bands[best][0])} to ${percent(now.bands[best][1])}`,
  };
}

function begin(data) {
  const part = (name) => document.getElementById(`what_if_${name}`);
  const predict = model(data);
  const svg = part("curve")?.querySelector("svg");
  const draw = svg ? curve(svg, data) : classBars(part("bars"), data);
  const words = svg ? numberWords : classWords;
  const bounds = { Beta: [0, 1], RowLogNormal: [0], LogNormal: [0], CensoredWeibull: [0], CensoredLogLogistic: [0] };
  const [least, most] = bounds[data.likelihood.kind] ?? [];
  const asked = (values) => ({ ...predict(values), least, most });
  let chosen = 0;
  let values = [];
  let first = null;
  let timer = 0;

  const redraw = () => {
    const start = data.starts[chosen];
    const moved = values.some((value, i) => value !== start.values[i]);
    const now = moved ? asked(values) : first;
    const { now: line, spread } = words(data, now, first, moved);
    part("now").replaceChildren(...line);
    part("spread").textContent = spread;
    const truth = moved ? null : start.truth;
    const told = `${part("now").textContent}. ${spread}`;
    draw(now, first, svg && typeof truth !== "number" ? null : truth, told);
    back.setAttribute("aria-disabled", String(!moved));
    items.forEach((item, i) => item.classList.toggle("moved", values[i] !== start.values[i]));
    clearTimeout(timer);
    timer = setTimeout(() => (part("told").textContent = told), PATIENCE);
  };
  const controls = data.columns.map((column, i) =>
    control(column, `what_if_${i}`, (value) => {
      values[i] = value;
      redraw();
    }),
  );
  const items = data.columns.map((column, i) => {
    const label = element("label", column.kind === "text" ? {} : { for: `what_if_${i}` }, cut(column.name));
    return element("div", { class: "item" }, label, ...controls[i].parts);
  });
  const restart = () => {
    values = [...data.starts[chosen].values];
    first = asked(values);
    controls.forEach((each, i) => each.set(values[i]));
    redraw();
  };

  const rows = element("select", { id: "what_if_start" });
  data.starts.forEach((start, i) => rows.append(element("option", { value: i }, startName(start))));
  rows.addEventListener("change", () => {
    chosen = Number(rows.value);
    restart();
  });
  const back = element("button", { type: "button" }, "Reset");
  back.addEventListener("click", restart);
  const ordered = data.order.map((i) => items[i]);
  const more = ordered.slice(N_FIRST);
  const summary = `${more.length} more features`;
  part("controls").append(
    element("div", { class: "begin" }, element("label", { for: "what_if_start" }, "Start from"), rows, back),
    ...ordered.slice(0, N_FIRST),
    ...(more.length ? [element("details", {}, element("summary", {}, summary), ...more)] : []),
  );
  restart();
  part("page").hidden = false;
  window.pmcnetWhatIf = Object.freeze({ predict, special: { gammaTail, betaCumulative, logGamma } });
}

try {
  begin(JSON.parse(document.getElementById("what_if-data").textContent));
} catch {
  document.getElementById("what_if_broken").hidden = false;
}
})();
