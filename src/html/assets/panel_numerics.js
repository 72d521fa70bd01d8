// Numerics: what rounding an intermediate does, and what contracting a product into a sum does.
(() => {
  const {element} = ingot.dom;
  const {
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
    finite
  } = ingot.exact;
  const {bf16, f32} = FORMATS;
  const OPS = {
    add: {sign: '+', apply: add},
    sub: {sign: '−', apply: subtract},
    mul: {sign: '·', apply: multiply},
  };
  const wrong = (text) => (parse(text) === null ? 'a number, such as 0.1, −3e-5, inf' : '');
  const of = (form) => (values) => values.form === form;
  const number = (form, name, label, value) =>
      ({name, label, kind: 'text', value, wrong, when: of(form)});
  const op = (name, label, value) => ({
    name,
    label,
    kind: 'choice',
    half: true,
    value,
    when: of('chain'),
    choices: Object.entries(OPS).map(([id, {sign}]) => [id, `${sign} (${id})`])
  });

  const stage = (name, format, value, about) => ({name, format, value, about});

  // y = (x op a) op b in bf16: each op rounded, against the intermediate kept in f32.
  function chain({first, second, x, a, b}) {
    const inputs = {x: round(bf16, parse(x)), a: round(bf16, parse(a)), b: round(bf16, parse(b))};
    const [one, two] = [OPS[first], OPS[second]];
    const exactT = one.apply(inputs.x, inputs.a);
    const [t, kept] = [round(bf16, exactT), round(f32, exactT)];
    // Wide rounds twice: to f32 as the arithmetic does, then to bf16 when the result is stored.
    const results =
        [round(bf16, two.apply(t, inputs.b)), round(bf16, round(f32, two.apply(kept, inputs.b)))];
    return {
      inputs,
      format: bf16,
      formula: `y = (x ${one.sign} a) ${two.sign} b`,
      ways: [
        {
          name: 'exact: each op rounds to bf16',
          stages: [
            stage('t', bf16, t, 'rounded to 8 bits'),
            stage('y', bf16, results[0], 'rounded to 8 bits')
          ]
        },
        {
          name: 'wide: t stays in f32',
          stages: [
            stage('t', f32, kept, 'rounded to 24 bits'),
            stage('y', bf16, results[1], 'rounded once it is stored')
          ]
        },
      ],
      exactT,
      results,
    };
  }

  // y = a · b + c in f32: product and sum each rounded, against one rounding.
  function contraction({factor, times, plus}) {
    const inputs = {
      a: round(f32, parse(factor)),
      b: round(f32, parse(times)),
      c: round(f32, parse(plus))
    };
    const exactT = multiply(inputs.a, inputs.b);
    const t = round(f32, exactT);
    const results =
        [round(f32, add(t, inputs.c)), round(f32, fusedMultiplyAdd(inputs.a, inputs.b, inputs.c))];
    return {
      inputs,
      format: f32,
      formula: 'y = a · b + c',
      ways: [
        {
          name: 'not contracted: two roundings',
          stages: [
            stage('t', f32, t, 'the product, rounded'),
            stage('y', f32, results[0], 'the sum, rounded')
          ]
        },
        {
          name: 'contracted (fma): one rounding',
          stages: [
            stage('t', null, exactT, 'the product, not rounded'),
            stage('y', f32, results[1], 'rounded once')
          ]
        },
      ],
      exactT,
      results,
    };
  }

  function bitRow(format, value) {
    const parts = bits(format, value);
    const group = (kind, text) => element('span', {class: `bits ${kind}`}, text);
    return element(
        'code',
        {class: 'bit-row', 'aria-label': `bits ${parts.sign} ${parts.exponent} ${parts.fraction}`},
        group('sign', parts.sign), group('exponent', parts.exponent),
        group('fraction', parts.fraction));
  }

  function stageNode({name, format, value, about}, visible) {
    return element(
        'div', {class: 'value'},
        element(
            'span', {class: 'value-name'}, format ? `${name}: ${format.name}` : `${name}: exact`),
        element('b', {}, visible ? show(value) : '?'),
        visible && format ? bitRow(format, value) : null, element('span', {class: 'how'}, about));
  }

  ingot.panels.push({
    id: 'numerics',
    title: 'Numerics',
    claim:
        'Fusion may keep an intermediate wider than its type, or contract a product into a sum. Both change results. ingot’s default, exact, rounds each op as if its result were stored, so fused and separate programs give the same bits.',
    fields: [
      {
        name: 'form',
        label: 'Program',
        kind: 'choice',
        value: 'chain',
        choices: [['chain', 'bf16 chain: two ops'], ['contraction', 'f32: a · b + c']]
      },
      number('chain', 'x', 'x', '256'),
      op('first', 'First op', 'add'),
      number('chain', 'a', 'a', '1'),
      op('second', 'Second op', 'sub'),
      number('chain', 'b', 'b', '256'),
      number('contraction', 'factor', 'a', '0.1'),
      number('contraction', 'times', 'b', '10'),
      number('contraction', 'plus', 'c', '-1'),
    ],

    model: (values) =>
        ({form: values.form, ...(values.form === 'chain' ? chain(values) : contraction(values))}),

    steps: () => 2,

    draw(width, model, step, revealed) {
      const inputs =
          Object.entries(model.inputs)
              .map(([name, value]) => stageNode(stage(name, model.format, value, ''), true));
      const ways = model.ways.map(
          (way) => element(
              'div', {class: 'way'}, element('h4', {}, way.name),
              way.stages.map(
                  (one, index) =>
                      (index < step ? stageNode(one, revealed || index === 0) : null))));
      return element(
          'div', {class: 'numbers'}, element('p', {class: 'formula'}, model.formula),
          element('div', {class: 'inputs'}, inputs), element('div', {class: 'ways'}, ways));
    },

    say(model, step, revealed) {
      const {ways, exactT, inputs} = model;
      if (step === 0)
        return `The numbers as ${model.format.name} has them: ${
            Object.entries(inputs).map(([name, value]) => `${name} = ${show(value)}`).join(', ')}.`;
      if (step === 1)
        return `The first result without rounding is ${show(exactT)}; the intermediates hold ${
            show(ways[0].stages[0].value)} and ${show(ways[1].stages[0].value)}.`;
      if (!revealed) return 'The second op, and the rounding of its result.';
      const [one, other] = model.results;
      return equal(one, other) ? `Both give ${show(one)}.` : `${show(one)} against ${show(other)}.`;
    },

    prediction: {
      label: 'Your prediction: y where each op rounds',
      unit: '',
      answer: (model) => toNumber(model.results[0]),
      right(typed, model) {
        const value = parse(typed);
        return value !== null &&
            equal(round(model.ways[0].stages[1].format, value), model.results[0]);
      },
      because: (model) =>
          `t rounds to ${show(model.ways[0].stages[0].value)}, so y = ${show(model.results[0])}; ${
              model.form === 'chain' ? 'with t kept in f32' :
                                       'contracted'} y = ${show(model.results[1])}.`,
    },

    answer(model) {
      const [one, other] = model.results;
      const difference = finite(one) && finite(other) ? round(f32, subtract(other, one)) : null;
      return [
        [
          model.ways[0].name, show(one),
          model.form === 'chain' ? 'numerics exact' : 'a compiler told to contract nothing'
        ],
        [
          model.ways[1].name, show(other),
          model.form === 'chain' ? 'numerics wide, fused' : '−ffp-contract=fast, NVRTC’s default'
        ],
        [
          'Difference', difference === null ? 'not finite' : show(difference),
          equal(one, other) ? 'the same bits' : 'depends on what was fused, unless every op rounds'
        ],
      ];
    },

    question: {
      text:
          'In a fused kernel the intermediate of a bf16 chain never leaves its register. Why does exact round it to bf16 all the same?',
      choices: [
        [
          'Because registers hold bf16', false,
          'Registers are 32 bits wide; a bf16 result is computed in f32 and could stay so.'
        ],
        [
          'So that fusing changes no bit of the result', true,
          'The separate program stores t as bf16, so it rounds. If the fused one did not, the same program would give other numbers whenever the planner fuses differently: on another device, at another size, after tuning. Keeping more digits may be nearer to the real sum; ingot does it when asked to: --numerics wide.'
        ],
        [
          'Because rounding each op is more accurate', false,
          'Usually it is less accurate. It is reproducible: the same bits however the program was cut.'
        ],
      ],
    },
  });
})();
