// The fields of a panel. Each maker takes the field's description, the id of its input and what to
// call with a new value, and gives { node, set(value) }; set changes what is shown and calls
// nothing.
(() => {
  const {element} = ingot.dom;
  const {significant} = ingot.format;

  // A slider goes along the logarithm where a field says so.
  const sliderSteps = 200;
  const toSlider = (field, value) => {
    const at = field.log ? Math.log(value / field.min) / Math.log(field.max / field.min) :
                           (value - field.min) / (field.max - field.min);
    return Math.round(sliderSteps * Math.min(1, Math.max(0, at)));
  };
  const fromSlider = (field, at) => {
    const share = at / sliderSteps;
    const value = field.log ? field.min * (field.max / field.min) ** share :
                              field.min + share * (field.max - field.min);
    if (field.powers) return 2 ** Math.round(Math.log2(value));
    if (field.whole) return Math.round(value / (field.step || 1)) * (field.step || 1);
    return Number(value.toPrecision(2));
  };

  const labelOf = (field, id) => element('label', {for: id
  }, field.label);

  // The line below an input that says what is wrong with it: { node, say(text) }.
  function problemOf(input, id) {
    const node = element('span', {class: 'problem', id: `${id}-problem`, role: 'alert'});
    input.setAttribute('aria-describedby', node.id);
    const say = (text) => {
      node.textContent = text;
      input.setAttribute('aria-invalid', text !== '');
    };
    return {node, say};
  }

  function numberField(field, id, changed) {
    const input = element('input', {
      id,
      type: 'number',
      min: field.min,
      max: field.max,
      step: 'any',
      value: field.value,
      inputmode: 'decimal',
    });
    const problem = problemOf(input, id);
    const slider = element('input', {
      type: 'range',
      min: 0,
      max: sliderSteps,
      step: 1,
      value: toSlider(field, field.value),
      'aria-label': `${field.label}, slider`,
    });
    const wrong = (value) => {
      if (input.value.trim() === '' || !Number.isFinite(value)) return 'a number';
      if (value < field.min || value > field.max)
        return `${significant(field.min, 6)} to ${significant(field.max, 12)}`;
      if (field.whole && !Number.isInteger(value)) return 'a whole number';
      if (field.powers && !Number.isInteger(Math.log2(value))) return 'a power of two';
      return '';
    };
    input.addEventListener('input', () => {
      const value = Number(input.value);
      problem.say(wrong(value));
      if (wrong(value)) return;
      slider.value = toSlider(field, value);
      changed(value);
    });
    slider.addEventListener('input', () => {
      const value = fromSlider(field, Number(slider.value));
      input.value = value;
      problem.say('');
      changed(value);
    });
    const set = (value) => {
      input.value = value;
      slider.value = toSlider(field, value);
      problem.say('');
    };
    return {
      set,
      node: element(
          'div', {class: 'field'}, labelOf(field, id),
          element(
              'span', {class: 'entry'}, input, element('span', {class: 'unit'}, field.unit || '')),
          slider, problem.node),
    };
  }

  function choiceField(field, id, changed) {
    const select = element(
        'select', {id, onchange: () => changed(select.value)},
        field.choices.map(
            ([value, label]) =>
                element('option', {value, selected: value === field.value}, label)));
    return {
      set: (value) => {
        select.value = value;
      },
      node:
          element('div', {class: field.half ? 'field' : 'field wide'}, labelOf(field, id), select),
    };
  }

  function checkField(field, id, changed) {
    const box = element(
        'input',
        {id, type: 'checkbox', checked: field.value, onchange: () => changed(box.checked)});
    return {
      set: (value) => {
        box.checked = value;
      },
      node: element('div', {class: 'field check'}, box, labelOf(field, id)),
    };
  }

  function textField(field, id, changed) {
    const input = element('input', {
      id,
      type: 'text',
      value: field.value,
      autocomplete: 'off',
      spellcheck: 'false',
    });
    const problem = problemOf(input, id);
    input.addEventListener('input', () => {
      problem.say(field.wrong(input.value));
      if (!field.wrong(input.value)) changed(input.value);
    });
    return {
      set: (value) => {
        input.value = value;
        problem.say('');
      },
      node: element(
          'div', {class: 'field'}, labelOf(field, id), element('span', {class: 'entry'}, input),
          problem.node),
    };
  }

  // Of the panels that count bytes.
  const elementSize = {
    name: 'size',
    label: 'Bytes an element s',
    unit: 'B',
    kind: 'number',
    value: 2,
    min: 1,
    max: 8,
    log: true,
    powers: true,
  };

  ingot.fields = {
    number: numberField,
    choice: choiceField,
    check: checkField,
    text: textField,
    elementSize,
  };
})();
