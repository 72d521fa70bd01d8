// Numbers as a person reads them. Units are decimal, as in ingot's other reports.
(() => {
  const significant = (value, digits = 3) => {
    if (value === 0 || !Number.isFinite(value)) return String(value);
    const size = Math.floor(Math.log10(Math.abs(value)));
    const places = Math.min(20, Math.max(0, digits - 1 - size));
    const text = value.toFixed(places);
    const shown = text.includes('.') ? text.replace(/\.?0+$/, '') : text;
    return grouped(shown);
  };

  const grouped = (text) => {
    const [whole, fraction] = text.split('.');
    const parted = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ',');
    return fraction === undefined ? parted : `${parted}.${fraction}`;
  };

  const integer = (value) => grouped(String(Math.round(value)));

  const scaled = (value, units) => {
    let unit = 0;
    let rest = value;
    while (Math.abs(rest) >= 1000 && unit + 1 < units.length) {
      rest /= 1000;
      unit += 1;
    }
    return `${significant(rest, 4)} ${units[unit]}`;
  };

  const bytes = (value) => scaled(value, ['B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB']);
  const flops = (value) => scaled(value, ['FLOP', 'kFLOP', 'MFLOP', 'GFLOP', 'TFLOP', 'PFLOP']);
  // "4,000,000 B (4 MB)": the count and its size.
  const exactBytes = (value) =>
      Math.abs(value) < 1000 ? `${integer(value)} B` : `${integer(value)} B (${bytes(value)})`;
  const microseconds = (value) => value >= 1e6 ? `${significant(value / 1e6)} s` :
      value >= 1e4 ? `${significant(value / 1e3)} ms` :
                     `${significant(value)} µs`;
  const percent = (share) => `${significant(100 * share)} %`;
  const counted = (count, noun, plural = `${noun}s`) =>
      `${integer(count)} ${count === 1 ? noun : plural}`;

  ingot.format = {significant, integer, bytes, flops, exactBytes, microseconds, percent, counted};
})();
