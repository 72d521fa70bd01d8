// Logarithmic axes.
(() => {
  // Powers of ten from `low` to `high`.
  function decades(low, high) {
    const list = [];
    for (let e = Math.ceil(Math.log10(low) - 1e-9); e <= Math.log10(high) + 1e-9; e += 1)
      list.push(10 ** e);
    return list;
  }

  // The same with 2 and 5 times each where there are few of them.
  function ticks(low, high) {
    const tens = decades(low, high);
    if (tens.length > 3) return tens;
    return decades(low / 10, high)
        .flatMap((ten) => [ten, 2 * ten, 5 * ten])
        .filter((value) => value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9));
  }

  // Where a value of [low, high] lies between two places.
  const scale = ([low, high], from, to) => (value) => from +
      ((Math.log10(value) - Math.log10(low)) / (Math.log10(high) - Math.log10(low))) * (to - from);

  ingot.logAxes = {decades, ticks, scale};
})();
