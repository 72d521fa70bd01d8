// A run of bench against an earlier one, for the reports of one size and of several.
(() => {
  const {element, table} = ingot.dom;
  const {microseconds, significant, counted} = ingot.format;
  const TIMES = {kernel_us: 'in kernels', end_to_end_us: 'end to end'};
  const percent = (share) => `${significant(100 * share)} %`;
  const signed = (share) => `${share > 0 ? '+' : ''}${percent(share)}`;
  const judged = (word) =>
      element('span', {class: {slower: 'no', faster: 'yes'}[word] || null}, word);
  const summary = ({slower, faster}) => slower > 0 ?
      `A regression: ${counted(slower, 'time')} slower.` :
      faster > 0 ? `No regression; ${counted(faster, 'time')} faster.` :
                   'No regression.';

  // null where nothing was compared.
  function comparison({comparison: compared}) {
    if (!compared) return null;
    const sizes = (row) =>
        Object.entries(row.dims).map(([name, size]) => `${name} = ${size}`).join(', ');
    const rows = compared.times.map(
        (row) =>
            [ingot.benchVariant(row.variant), sizes(row), TIMES[row.time] || row.time,
             microseconds(row.base_us), microseconds(row.us), signed(row.change),
             percent(row.noise), judged(row.judgement)]);
    return element(
        'section', {class: 'card', id: 'comparison'}, element('h2', {}, 'Against an earlier run'),
        element('p', {class: 'lead'}, summary(compared)),
        element(
            'p', {class: 'aside'},
            `The base: ${
                compared
                    .base_of}. Noise is the range of half of the samples of both runs, at least 3 %.`),
        element(
            'div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Comparison'},
            table(['way', 'sizes', 'time', 'base', 'now', 'change', 'noise', 'judgement'], rows)));
  }

  ingot.benchComparison = comparison;
})();
