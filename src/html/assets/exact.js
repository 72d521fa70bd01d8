// Binary floating-point arithmetic without rounding, and rounding as an operation of its own.
// A value is { sign: 1 | -1, n, d } with BigInt n / d, or { sign, infinite }, or { nan }.
(() => {
  const FORMATS = {
    bf16: {name: 'bf16', precision: 8, least: -126, most: 127, exponentBits: 8},
    f32: {name: 'f32', precision: 24, least: -126, most: 127, exponentBits: 8},
  };
  const NAN = {nan: true};
  const largestExponent = 400;  // of a decimal text: beyond every format here

  const finite = (value) => !value.nan && !value.infinite;
  const zero = (value) => finite(value) && value.n === 0n;
  const bitLength = (n) => n.toString(2).length;
  const shifted = (n, by) => (by >= 0 ? n << BigInt(by) : n);

  // A decimal number as it is written, "inf" or "nan". null: none of these.
  function parse(source) {
    const text = source.trim().toLowerCase().replace('−', '-');
    if (/^[+-]?nan$/.test(text)) return NAN;
    const sign = text.startsWith('-') ? -1 : 1;
    if (/^[+-]?inf(inity)?$/.test(text)) return {sign, infinite: true};
    const parts = /^[+-]?(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,6}))?$/.exec(text);
    if (!parts || (parts[1] === '' && !parts[2])) return null;
    const exponent = Number(parts[3] || 0) - (parts[2] || '').length;
    if (Math.abs(exponent) > largestExponent || text.length > largestExponent) return null;
    const digits = BigInt(parts[1] + (parts[2] || ''));
    const power = 10n ** BigInt(Math.abs(exponent));
    return exponent < 0 ? {sign, n: digits, d: power} : {sign, n: digits * power, d: 1n};
  }

  // Of the leading bit: 2^result <= n / d < 2^(result + 1).
  function exponentOf({n, d}) {
    const guess = bitLength(n) - bitLength(d);
    return shifted(n, -guess) < shifted(d, guess) ? guess - 1 : guess;
  }

  // To the nearest value of the format, ties to even; past the largest one an infinity.
  function round(format, value) {
    if (!finite(value) || zero(value)) return value;
    const quantum = Math.max(exponentOf(value), format.least) - (format.precision - 1);
    const n = shifted(value.n, -quantum);
    const d = shifted(value.d, quantum);
    const rest = 2n * (n % d);
    let m = n / d;
    if (rest > d || (rest === d && m % 2n === 1n)) m += 1n;
    if (bitLength(m) + quantum - 1 > format.most) return {sign: value.sign, infinite: true};
    return {sign: value.sign, n: shifted(m, quantum), d: shifted(1n, -quantum)};
  }

  function multiply(a, b) {
    if (a.nan || b.nan) return NAN;
    const sign = a.sign * b.sign;
    if (a.infinite || b.infinite) return zero(a) || zero(b) ? NAN : {sign, infinite: true};
    return {sign, n: a.n * b.n, d: a.d * b.d};
  }

  function add(a, b) {
    if (a.nan || b.nan) return NAN;
    if (a.infinite || b.infinite) {
      if (a.infinite && b.infinite) return a.sign === b.sign ? a : NAN;
      return a.infinite ? a : b;
    }
    const n = BigInt(a.sign) * a.n * b.d + BigInt(b.sign) * b.n * a.d;
    // A sum that is zero is +0, but for two negative zeros.
    const sign = n < 0n || (n === 0n && a.sign < 0 && b.sign < 0) ? -1 : 1;
    return {sign, n: n < 0n ? -n : n, d: a.d * b.d};
  }

  const negative = (a) => (a.nan ? NAN : {...a, sign: -a.sign});
  const subtract = (a, b) => add(a, negative(b));
  // Exact product and sum; the caller rounds once.
  const fusedMultiplyAdd = (a, b, c) => add(multiply(a, b), c);

  function equal(a, b) {
    if (a.nan || b.nan) return Boolean(a.nan && b.nan);
    if (a.sign !== b.sign) return false;
    return a.infinite || b.infinite ? Boolean(a.infinite && b.infinite) : a.n * b.d === b.n * a.d;
  }

  // The nearest f64; exact for every value of a format above.
  function toNumber(value) {
    if (value.nan) return NaN;
    if (value.infinite) return value.sign * Infinity;
    if (zero(value)) return value.sign * 0;
    const quantum = Math.max(exponentOf(value), -1022) - 52;
    const n = shifted(value.n, -quantum);
    const d = shifted(value.d, quantum);
    const rest = 2n * (n % d);
    let m = n / d;
    if (rest > d || (rest === d && m % 2n === 1n)) m += 1n;
    // In two steps: 2^quantum alone may be too small for an f64.
    const half = Math.trunc(quantum / 2);
    return value.sign * Number(m) * 2 ** half * 2 ** (quantum - half);
  }

  // Sign, exponent and fraction of a value of the format, as strings of bits.
  function bits(format, value) {
    const fractionBits = format.precision - 1;
    const ones = '1'.repeat(format.exponentBits);
    if (value.nan)
      return {
        sign: '0',
        exponent: ones,
        fraction: '1' +
            '0'.repeat(fractionBits - 1)
      };
    const sign = value.sign < 0 ? '1' : '0';
    if (value.infinite) return {sign, exponent: ones, fraction: '0'.repeat(fractionBits)};
    const bias = format.most;
    const exponent = zero(value) ? format.least : Math.max(exponentOf(value), format.least);
    const quantum = exponent - fractionBits;
    const m = shifted(value.n, -quantum) / shifted(value.d, quantum);
    const normal = m >> BigInt(fractionBits) > 0n;
    const field = normal ? exponent + bias : 0;
    return {
      sign,
      exponent: field.toString(2).padStart(format.exponentBits, '0'),
      fraction: (m & ((1n << BigInt(fractionBits)) - 1n)).toString(2).padStart(fractionBits, '0'),
    };
  }

  function show(value) {
    if (value.nan) return 'NaN';
    if (value.infinite) return value.sign < 0 ? '−inf' : 'inf';
    const number = toNumber(value);
    return Object.is(number, -0) ? '−0' : String(number).replace('-', '−');
  }

  ingot.exact = {
    FORMATS,
    parse,
    round,
    add,
    subtract,
    multiply,
    fusedMultiplyAdd,
    equal,
    toNumber,
    bits,
    show,
    finite,
    zero,
    exponentOf,
  };
})();
