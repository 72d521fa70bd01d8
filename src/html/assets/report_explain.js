// The report of `ingot explain`: totals, graph, decisions, kernels, roofline, times.
(() => {
  const {element, svg, drawing, text, replace, whenSized} = ingot.dom;
  const {bytes, counted, exactBytes, integer, microseconds, percent, significant} = ingot.format;
  const barsAtMost = 30;

  const card = (id, title, ...content) =>
      element('section', {class: 'card', id}, element('h2', {}, title), content);
  const ratio = (from, to) => (from > 0 && to > 0 ? `${significant(from / to)} ×` : '–');

  function tile(what, value, how) {
    const parts = value.split(' → ').map(
        (part, index) => [index > 0 ? ' → ' : '', element('span', {class: 'unbroken'}, part)]);
    return element(
        'div', {class: 'tile'}, element('span', {class: 'tile-name'}, what),
        element('b', {}, parts), element('span', {class: 'how'}, how));
  }

  function totals(report) {
    const all = report.totals;
    const measured = all.measured_us_fused !== null;
    return element(
        'section', {class: 'tiles', 'aria-label': 'Totals'},
        tile(
            'Kernels', `${integer(all.kernels_separate)} → ${integer(all.kernels_fused)}`,
            counted(all.ops, 'op')),
        tile(
            'Bytes at device memory', `${bytes(all.bytes_separate)} → ${bytes(all.bytes_fused)}`,
            `${exactBytes(all.bytes_saved)} saved at most`),
        tile(
            'Predicted',
            `${microseconds(all.predicted_us_separate)} → ${microseconds(all.predicted_us_fused)}`,
            ratio(all.predicted_us_separate, all.predicted_us_fused)),
        measured ? tile(
                       'Measured',
                       `${microseconds(all.measured_us_separate)} → ${
                           microseconds(all.measured_us_fused)}`,
                       `${ratio(all.measured_us_separate, all.measured_us_fused)}, copy ${
                           significant(all.copy_gbs)} GB/s`) :
                   tile('Measured', 'not measured', 'ingot explain --measure'),
        tile(
            'Peak memory', `${bytes(all.peak_memory_separate)} → ${bytes(all.peak_memory_fused)}`,
            ''));
  }

  const yesNo = (fused) => element('span', {class: fused ? 'yes' : 'no'}, fused ? 'yes' : 'no');

  function decisions(report, graph) {
    const edge = (row) => `${row.producer ?? ''} → ${row.consumer ?? ''}`;
    if (report.decisions.length === 0)
      return card(
          'decisions', 'Decisions', element('p', {class: 'aside'}, 'No two ops to decide on.'));
    return card('decisions', 'Decisions', ingot.sortedTable(report.decisions, [
      { name: 'fused', value: (row) => (row.fused ? 'yes' : 'no'), show: (row) => yesNo(row.fused), filter: true },
      { name: 'edge', value: edge, wrap: true,
        show: (row) => element('button', { type: 'button', class: 'link', title: 'show in the graph', onclick: () => graph.show(row.consumer_op ?? row.producer_op) }, edge(row)) },
      { name: 'reason', value: (row) => row.reason, show: (row) => element('code', {}, row.reason), filter: true },
      { name: 'saves', value: (row) => row.bytes_saved, show: (row) => (row.bytes_saved !== 0 ? [bytes(row.bytes_saved), row.fits_l2 ? element('span', { class: 'how' }, 'fits a cache') : null] : '–'), number: true },
      { name: 'kind', value: (row) => row.kind, show: (row) => row.kind.replace(/_/g, ' '), filter: true },
      { name: 'why', value: (row) => row.detail, show: (row) => row.detail, wrap: true },
    ], { label: 'decisions', noun: 'decision' }));
  }

  const known = (value, show = integer) =>
      (value === null || value === undefined ? '–' : show(value));

  // Values that kernels exchange: what saving each costs, and computing it again.
  function saveOrRecompute(report, graph) {
    const rows = report.save_or_recompute ?? [];
    if (rows.length === 0) return null;
    const cost = (row, way) => known(
        row[`us_if_${way}`],
        (us) => [microseconds(us), element('span', {class: 'how'}, bytes(row[`bytes_if_${way}`]))]);
    return card('values', 'Save or recompute', ingot.sortedTable(rows, [
      { name: 'value', value: (row) => row.value, wrap: true,
        show: (row) => element('button', { type: 'button', class: 'link', title: 'show in the graph', onclick: () => graph.show(row.value) }, row.value) },
      { name: 'read by', value: (row) => row.consumers.join(', '), show: (row) => row.consumers.join(', ') || '–', wrap: true },
      { name: 'chosen', value: (row) => row.chosen, show: (row) => row.chosen, filter: true },
      { name: 'saved', value: (row) => row.us_if_saved, show: (row) => cost(row, 'saved'), number: true },
      { name: 'computed again', value: (row) => row.us_if_recomputed ?? -1, show: (row) => cost(row, 'recomputed'), number: true },
      { name: 'FLOP again', value: (row) => row.flops_if_recomputed ?? -1, show: (row) => known(row.flops_if_recomputed), number: true },
      { name: 'memory', value: (row) => row.memory_bytes, number: true,
        show: (row) => (row.held_from === null ? '–' : [bytes(row.memory_bytes), element('span', { class: 'how' }, `kernels ${row.held_from} to ${row.held_to}`)]) },
      { name: 'why', value: (row) => row.why, show: (row) => row.why, wrap: true },
    ], { label: 'values between kernels', noun: 'value' }),
      element('p', {class: 'aside'}, 'Times are predicted. A value is written by one kernel and read by others, or computed again in each of them.'));
  }

  function kernelTable(report, parts) {
    return ingot.sortedTable(
        parts,
        [
          {
            name: 'kernel',
            value: ({group}) => group.name,
            show: ({group}) => element(
                'button', {type: 'button', class: 'link', onclick: () => openSource(group.id)},
                `${group.id} ${group.name}`)
          },
          {
            name: 'kind',
            value: ({group}) => group.kind,
            show: ({group}) => group.kind.replace(/_/g, ' '),
            filter: true
          },
          {
            name: 'bound',
            value: ({group}) => group.bound,
            show: ({group}) => group.bound,
            filter: true
          },
          {
            name: 'predicted',
            value: ({group}) => group.predicted_us,
            show: ({group}) => microseconds(group.predicted_us),
            number: true
          },
          {
            name: 'measured',
            value: ({group}) => group.measured_us ?? -1,
            show: ({group}) => known(group.measured_us, microseconds),
            number: true
          },
          {
            name: 'of copy',
            value: ({group}) => group.percent_of_ceiling ?? -1,
            show: ({group}) =>
                known(group.percent_of_ceiling, (value) => `${significant(value)} %`),
            number: true
          },
          {
            name: 'bytes',
            value: (part) => part.bytes,
            show: (part) => bytes(part.bytes),
            number: true
          },
          {
            name: 'saved',
            value: ({group}) => group.bytes_saved,
            show: ({group}) => bytes(group.bytes_saved),
            number: true
          },
          {
            name: 'registers',
            value: ({group}) => group.resources.registers ?? -1,
            show: ({group}) => known(group.resources.registers),
            number: true
          },
          {
            name: 'spilled',
            value: ({group}) => group.resources.spill_store_bytes ?? -1,
            show: ({group}) => known(
                group.resources.spill_store_bytes,
                (value) => bytes(value + group.resources.spill_load_bytes)),
            number: true
          },
          {
            name: 'shared',
            value: ({group}) => group.resources.shared_bytes ?? -1,
            show: ({group}) => known(group.resources.shared_bytes, bytes),
            number: true
          },
          {
            name: 'occupancy',
            value: ({group}) => group.resources.occupancy ?? -1,
            show: ({group}) => known(
                group.resources.occupancy,
                (value) =>
                    [percent(value),
                     element('span', {class: 'how'}, group.resources.occupancy_limit)]),
            number: true
          },
        ],
        {label: 'kernels', noun: 'kernel'});
  }

  function openSource(id) {
    const details = document.getElementById(`kernel-${id}`);
    if (!details) return;
    details.open = true;
    details.querySelector('summary').focus();
    details.scrollIntoView({block: 'nearest'});
  }

  function listed(what, names) {
    return names.length > 0 ? [element('dt', {}, what), element('dd', {}, names.join(', '))] : null;
  }

  function kernelDetails(group, sources) {
    const own = sources.filter((source) => source.group === group.id);
    const found = group.resources;
    return element(
        'details', {id: `kernel-${group.id}`, class: `kernel-details group-${group.id % 8}`},
        element(
            'summary', {}, `${group.id} ${group.name}`,
            element('span', {class: 'how'}, group.reason)),
        element(
            'dl', {class: 'facts'}, listed('Ops', group.ops), listed('Reads', group.inputs),
            listed('Writes', group.outputs), listed('Stored as well', group.materialized),
            listed('Computed again', group.recomputed),
            listed(
                'Schedule',
                [
                  group.schedule,
                  ...group.variants.filter((variant) => variant.name !== group.schedule)
                      .map((variant) => `else ${variant.name}`)
                ].filter(Boolean)),
            found.registers === null || found.registers === undefined ?
                null :
                listed(
                    'Resources',
                    [
                      `${found.registers} registers`,
                      `${bytes(found.spill_store_bytes + found.spill_load_bytes)} spilled`,
                      `${bytes(found.stack_bytes)} stack`, `${bytes(found.shared_bytes)} shared`,
                      `${found.threads_per_block} threads a block`,
                      `${found.blocks_per_sm} blocks a multiprocessor (limited by ${
                          found.occupancy_limit})`,
                      `source: ${found.source}`
                    ]),
            group.obstacle ? listed('Cannot run', [group.obstacle]) : null),
        own.map(
            (source) =>
                [element('h4', {}, source.name),
                 element(
                     'pre', {tabindex: 0, 'aria-label': `source of ${source.name}`},
                     source.kernel)]));
  }

  function kernels(report, parts, sources) {
    return card(
        'kernels', 'Kernels', kernelTable(report, parts),
        element(
            'div', {class: 'sources'}, report.groups.map((group) => kernelDetails(group, sources))),
        report.compiler_problem ?
            element('p', {class: 'aside'}, `Resources are estimated: ${report.compiler_problem}`) :
            null);
  }

  function roofline(program) {
    const {parts, model} = program;
    const place = element('div', {});
    const drawn = parts.filter((part) => part.fused.x > 0);
    const compute = Math.max(model.f32_gflops, ...drawn.map((part) => part.compute));
    const slowest = [...drawn].sort((one, other) => other.us - one.us);
    whenSized(place, (width) => {
      const labelled = new Set(slowest.slice(0, width < 480 ? 3 : 8));
      const label = (part) => (labelled.has(part) ? part.group.name : '');
      const points = drawn.flatMap(
          (part) =>
              [...(part.separate ? [{
                 ...part.separate,
                 kind: 'separate',
                 title: `${part.group.name}, ${counted(part.kernelsApart, 'separate kernel')}: ${
                     microseconds(part.separate.us)} predicted`
               }] :
                                   []),
               {
                 ...part.fused,
                 kind: 'fused',
                 label: label(part),
                 title: `${part.group.name}: ${significant(part.fused.x)} FLOP a byte, ${
                     microseconds(part.us)} ${part.measured ? 'measured' : 'predicted'}`
               }]);
      const arrows =
          drawn.filter((part) => part.separate).map((part) => [part.separate, part.fused]);
      replace(
          place,
          ingot.roofline.chart(
              width, Math.min(420, Math.max(280, width * 0.45)),
              {bandwidth: model.copy_gbs, compute}, points, arrows, `Roofline of ${model.name}`));
    });
    return card(
        'roofline', 'Roofline',
        element(
            'p', {class: 'aside'},
            `Squares: the separate kernels of a group, predicted. Circles: the fused kernel, ${
                program.measured ? 'measured' : 'predicted'}. The roof is ${model.name}: ${
                significant(
                    model.copy_gbs)} GB/s and ${integer(compute)} GFLOP/s (${model.source}).`),
        place,
        drawn.length < parts.length ?
            element(
                'p', {class: 'aside'},
                `${
                    counted(
                        parts.length - drawn.length, 'kernel moves',
                        'kernels move')} data without arithmetic and ${
                    parts.length - drawn.length === 1 ? 'has' : 'have'} no place here.`) :
            null);
  }

  // Kernels one after the other, to scale.
  function lane(width, y, title, list, all) {
    let at = 0;
    const nodes = [
      text(0, y + 13, title, {class: 'lane-title'}),
      text(
          width, y + 13, microseconds(list.reduce((sum, item) => sum + item.us, 0)),
          {class: 'lane-total', 'text-anchor': 'end'})
    ];
    for (const item of list) {
      const span = (item.us / all) * width;
      nodes.push(svg(
          'g', {class: `span group-${item.color % 8}`},
          svg('title', {}, `${item.name}: ${microseconds(item.us)}`),
          svg('rect', {x: at, y: y + 22, width: Math.max(0.5, span - 1), height: 26, rx: 2}),
          span > 7.6 * item.name.length + 10 ?
              text(
                  at + span / 2, y + 39, item.name, {'text-anchor': 'middle', class: 'span-name'}) :
              null));
      at += span;
    }
    return nodes;
  }

  function timeline(report, program) {
    const place = element('div', {});
    const owner =
        new Map(report.groups.flatMap((group) => group.ops.map((name) => [name, group.id])));
    const lanes = [
      [
        'separate, predicted',
        report.separate_groups.map(
            (kernel) => (
                {name: kernel.name, us: kernel.predicted_us, color: owner.get(kernel.ops[0]) ?? 0}))
      ],
      [
        'fused, predicted',
        report.groups.map((group) => ({name: group.name, us: group.predicted_us, color: group.id}))
      ],
    ];
    if (program.measured)
      lanes.push([
        'fused, measured',
        report.groups.map((group) => ({name: group.name, us: group.measured_us, color: group.id}))
      ]);
    const total = (list) => list.reduce((sum, item) => sum + item.us, 0);
    const all = Math.max(...lanes.map(([, list]) => total(list)));
    whenSized(
        place,
        (width) => replace(
            place,
            drawing(
                width, lanes.length * 62, 'Kernels over time',
                lanes.map(([title, list], index) => lane(width, index * 62, title, list, all)))));
    return card(
        'timeline', 'Timeline', place,
        element(
            'p', {class: 'aside'},
            'One kernel after the other, to scale; the same colour is the same group. --trace writes it for a trace viewer.'));
  }

  function predictedAgainstMeasured(program) {
    if (!program.measured) return null;
    const parts =
        program.parts.filter((part) => part.group.measured_us > 0 && part.group.predicted_us > 0);
    if (parts.length === 0) return null;
    const logs = parts.map((part) => Math.log(part.group.predicted_us / part.group.measured_us));
    const mean = Math.exp(logs.reduce((sum, value) => sum + Math.abs(value), 0) / logs.length);
    const shown = [...parts]
                      .sort((one, other) => other.group.measured_us - one.group.measured_us)
                      .slice(0, barsAtMost);
    const most = Math.max(...shown.flatMap(({group}) => [group.predicted_us, group.measured_us]));
    const place = element('div', {});
    whenSized(place, (width) => {
      const names = Math.min(190, width * 0.34);
      const room = width - names - 80;
      replace(
          place,
          drawing(
              width, shown.length * 40, 'Predicted and measured times',
              shown.map(({group}, index) => {
                const y = index * 40;
                const bar = (us, top, kind) =>
                    [svg('rect', {
                       class: `bar ${kind}`,
                       x: names,
                       y: y + top,
                       width: Math.max(1, (us / most) * room),
                       height: 13,
                       rx: 2
                     }),
                     text(
                         names + Math.max(1, (us / most) * room) + 6, y + top + 11,
                         microseconds(us), {class: 'tick'})];
                const letters = Math.floor(names / 7.8);
                const name = group.name.length > letters ? `${group.name.slice(0, letters - 1)}…` :
                                                           group.name;
                return [
                  text(0, y + 21, name, {}), bar(group.predicted_us, 3, 'predicted'),
                  bar(group.measured_us, 18, 'measured')
                ];
              })));
    });
    return card(
        'accuracy', 'Predicted and measured',
        element(
            'p', {class: 'aside'},
            `Light: predicted; dark: measured. Mean factor between them ${significant(mean)} over ${
                counted(parts.length, 'kernel')}${
                shown.length < parts.length ? `; the ${barsAtMost} longest are drawn` : ''}.`),
        place);
  }

  function explainReport({report, sources}) {
    const program = ingot.kernels(report);
    const graph = ingot.graph.section(report);
    return {
      title: `${report.graph} on ${report.device}`,
      sections: [
        totals(report), graph.node, decisions(report, graph), saveOrRecompute(report, graph),
        kernels(report, program.parts, sources), roofline(program), timeline(report, program),
        predictedAgainstMeasured(program)
      ],
      start: graph.start,
    };
  }

  ingot.reports = {explain: explainReport};
})();
