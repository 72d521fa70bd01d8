// The report of `ingot bench`: the ways to run the program, side by side.
(() => {
  const {element, table} = ingot.dom;
  const {bytes, integer, microseconds, significant} = ingot.format;
  const card = (id, title, ...content) =>
      element('section', {class: 'card', id}, element('h2', {}, title), content);
  const VARIANTS = {separate_streams: 'separate, several streams', library: 'library kernels'};
  const gpu = ({device}) => device !== 'cpu';
  const COLUMNS = [
    {
      key: 'kernel_us',
      name: 'in kernels',
      meaning: (report) => gpu(report) ? 'time on the device of calls in a CUDA graph' :
                                         'time in kernels, all of a call'
    },
    {
      key: 'launched_us',
      name: 'one by one',
      meaning: () => 'the same, kernels launched one by one on a stream'
    },
    {
      key: 'end_to_end_us',
      name: 'end to end',
      meaning: (report) => gpu(report) ?
          'one launch of the program\'s graph on data of the device, waited for' :
          'a whole call, with its outputs allocated'
    },
    {
      key: 'end_to_end_with_transfer_us',
      name: 'from host',
      meaning: () =>
          'a call from tensors of the host to new ones there: allocation and copies included'
    },
    {
      key: 'host_us',
      name: 'host',
      meaning: () => 'what a call costs the host that does not wait for it'
    }
  ];
  const named = (variant) => VARIANTS[variant] || variant;

  function times(id, title, results, key) {
    const shown = results.filter((row) => row[key] && row[key].median !== null);
    if (shown.length === 0) return null;
    return card(
        id, title, ingot.bars(shown.map((row) => ({
                                          name: named(row.variant),
                                          us: row[key].median,
                                          low: row[key].min,
                                          high: row[key].max,
                                          samples: row.samples && row.samples[key],
                                          kind: row.variant === 'fused' ? 'measured' : 'predicted'
                                        }))));
  }

  const spread = (times) => times && times.median !== null ?
      [
        microseconds(times.median),
        element('span', {class: 'how'}, `${microseconds(times.min)} to ${microseconds(times.max)}`)
      ] :
      '–';

  // What the hardware counted, a row a kernel on a GPU.
  function counted(results) {
    const rows = results.filter(({counters}) => counters).flatMap((row) => {
      const {counters} = row;
      const shapes = bytes(row.bytes);
      if (counters.cycles !== undefined)
        return [[
          named(row.variant), shapes, bytes(counters.bytes_by_cache_misses),
          `${significant(counters.instructions)} instructions, ${
              significant(counters.cycles)} cycles a call`
        ]];
      return [
        [
          named(row.variant), shapes,
          `${bytes(counters.bytes_read)} read, ${bytes(counters.bytes_written)} written`,
          `local memory ${bytes(counters.local_bytes)}`
        ],
        ...counters.kernels.map(
            (kernel) =>
                [kernel.kernel, '',
                 `${bytes(kernel.bytes_read)} read, ${bytes(kernel.bytes_written)} written`,
                 `${significant(100 * kernel.occupancy)} % of the warps active; waits: ${
                     kernel.stalls.slice(0, 3)
                         .map(
                             (stall) =>
                                 `${stall.reason} ${significant(stall.cycles_an_instruction)}`)
                         .join(', ')}`])
      ];
    });
    if (rows.length === 0) return null;
    return card(
        'counters', 'What the hardware counted',
        element(
            'div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Counters'},
            table(['way or kernel', 'bytes by the shapes', 'bytes counted', 'more'], rows)));
  }

  function benchReport({report}) {
    const {results} = report;
    const same = report.identical ? 'equal bit for bit' :
                                    `largest error ${significant(report.max_abs_error)} absolute, ${
                                        significant(report.max_rel_error)} relative`;
    const verdict = element(
        'section', {class: 'card verdict-card', id: 'verdict'}, element('h2', {}, 'Verdict'),
        element('p', {class: 'lead'}, report.verdict),
        element(
            'p', {class: 'aside'},
            `Results: ${same}. ${
                integer(
                    report
                        .repeats)} runs of each way, in turns; bars are medians, lines go from the least to the most. ${
                report.caches ?
                    `Caches ${report.caches}.` :
                    ''} Copy in this run: ${significant(report.ceilings.copy_gbs)} GB/s.`));
    const shown =
        COLUMNS.filter(({key}) => results.some((row) => row[key] && row[key].median !== null));
    const rows = results.map(
        (row) =>
            [named(row.variant), ...shown.map(({key}) => spread(row[key])), bytes(row.bytes),
             row.gbs === null ? '–' : `${significant(row.gbs)} GB/s`,
             row.percent_of_copy === null ? '–' : `${significant(row.percent_of_copy)} %`,
             integer(row.launches)]);
    const notes = [
      ...shown.map(({name, meaning}) => `${name}: ${meaning(report)}`),
      ...results.filter(({kernels}) => kernels)
          .map(
              ({variant, kernels, max_abs_error: error}) => `${named(variant)}: ${
                  kernels}; largest difference from fused ${significant(error)}`),
      ...(report.counters_problem ? [`no counters: ${report.counters_problem}`] : []),
      ...(report.left_out || []).map(({variant, why}) => `no ${named(variant)}: ${why}`)
    ];
    return {
      title: `${report.graph}: separate and fused on ${report.device}`,
      sections: [
        verdict, ingot.benchComparison(report),
        times('kernel', 'Time in kernels', results, 'kernel_us'),
        times('end-to-end', 'Time of a call, end to end', results, 'end_to_end_us'),
        card(
            'table', 'Figures',
            element(
                'div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Figures'},
                table(
                    ['way', ...shown.map(({name}) => name), 'bytes', 'rate', 'of copy', 'launches'],
                    rows)),
            element('ul', {class: 'notes'}, notes.map((note) => element('li', {}, note)))),
        counted(results)
      ],
    };
  }

  ingot.reports.bench = benchReport;
  ingot.benchVariant = named;
})();
