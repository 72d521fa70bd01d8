// The frame of a panel: fields, a prediction before the answer shows, Reset, Play and Step, a
// drawing that the keyboard moves, and one question with its reasoning.
//
// A panel is an object:
//   id, title, claim        what it shows, in a sentence
//   fields                  [{ name, label, unit, kind: number | choice | check | text, value, …
//   }];
//                           `when(values)`: shown only then; `chosen(value)`: other fields' values
//   model(values)           what the fields mean: a plain object, computed afresh at each change
//   steps(model)            number of the last step; the first is 0. `countIsAnswer`: it would tell
//   draw(width, model, step, revealed)   nodes; without `revealed` no number of the answer
//   say(model, step, revealed)           what this step shows, a sentence
//   prediction              { label, unit, choices?, answer(model), right?(typed, model),
//   because(model) } answer(model)           rows of the answer: [[what, value, how]] more(model,
//   frame)      nodes below, optional; follow(below, step): marks in them what a step shows
//   question                { text, choices: [[text, right, reasoning]] }
(() => {
  const {element, replace, whenSized} = ingot.dom;
  const calm = () => window.matchMedia('(prefers-reduced-motion: reduce)').matches;
  const beat = () => (calm() ? 1500 : 800);  // ms a step of Play

  const near = (typed, value) => Math.abs(typed - value) <= 0.01 * Math.abs(value) + 1e-12;

  class Frame {
    constructor(panel) {
      this.panel = panel;
      this.values = {};
      this.inputs = {};
      this.step = 0;
      this.revealed = false;
      this.timer = null;
      this.width = 0;
      for (const field of panel.fields) this.values[field.name] = field.value;
      this.node = this.build();
      this.refresh();
      whenSized(this.figure, (width) => {
        this.width = width;
        this.draw();
      });
    }

    build() {
      const {panel} = this;
      this.figure = element('figure', {
        tabindex: 0,
        'aria-label': `${panel.title}: drawing. Arrow keys step, space plays.`,
        onkeydown: (event) => this.key(event),
      });
      this.saying = element('p', {class: 'say', 'aria-live': 'polite'});
      this.place = element('span', {class: 'place'});
      this.playButton = element(
          'button', {type: 'button', class: 'play', onclick: () => this.togglePlay()}, 'Play');
      this.answer = element('div', {class: 'answer', 'aria-live': 'polite'});
      this.below = element('div', {class: 'more'});
      // Not the address's name: a browser would scroll to it.
      return element(
          'section', {
            class: 'panel',
            id: `panel-${panel.id}`,
            role: 'tabpanel',
            'aria-labelledby': `tab-${panel.id}`,
            tabindex: -1
          },
          element('h2', {}, panel.title), element('p', {class: 'claim'}, panel.claim),
          element(
              'div', {class: 'columns'},
              element(
                  'div', {class: 'side'},
                  element('div', {class: 'fields'}, panel.fields.map((field) => this.field(field))),
                  this.prediction(), this.answer),
              element(
                  'div', {class: 'stage'},
                  element(
                      'div', {class: 'tools'},
                      element(
                          'button', {type: 'button', class: 'reset', onclick: () => this.reset()},
                          'Reset'),
                      this.playButton,
                      element(
                          'button', {type: 'button', class: 'step', onclick: () => this.advance(1)},
                          'Step'),
                      this.place),
                  this.figure, this.saying)),
          this.below, this.question());
    }

    field(field) {
      const id = `${this.panel.id}-${field.name}`;
      const made = ingot.fields[field.kind](field, id, (value) => {
        this.values[field.name] = value;
        if (field.chosen) this.put(field.chosen(value));
        this.refresh();
      });
      this.inputs[field.name] = made;
      return made.node;
    }

    // Sets fields as if they had been typed.
    put(values) {
      for (const [name, value] of Object.entries(values)) {
        this.values[name] = value;
        this.inputs[name].set(value);
      }
      this.refresh();
    }

    prediction() {
      const {prediction, id} = this.panel;
      const name = `${id}-prediction`;
      this.guess = prediction.choices ?
          element(
              'select', {id: name}, element('option', {value: ''}, 'choose'),
              prediction.choices.map(([value, label]) => element('option', {value}, label))) :
          element('input', {id: name, type: 'text', inputmode: 'decimal', autocomplete: 'off'});
      this.verdict = element('p', {class: 'verdict', role: 'status'});
      return element(
          'form', {
            class: 'prediction',
            onsubmit: (event) => {
              event.preventDefault();
              this.check();
            }
          },
          element(
              'label',
              { for: name
              },
              prediction.label),
          element(
              'span', {class: 'entry'}, this.guess,
              element('span', {class: 'unit'}, prediction.unit || '')),
          element(
              'span', {class: 'buttons'},
              element('button', {type: 'submit', class: 'check primary'}, 'Check'),
              element(
                  'button', {type: 'button', class: 'show', onclick: () => this.reveal('')},
                  'Show the answer')),
          this.verdict);
    }

    check() {
      const {prediction} = this.panel;
      const typed = this.guess.value.trim();
      if (typed === '') {
        this.verdict.className = 'verdict wrong';
        this.verdict.textContent = 'Your own prediction first; or let the answer show.';
        this.guess.focus();
        return;
      }
      const answer = prediction.answer(this.model);
      const right = prediction.right ? prediction.right(typed, this.model) :
          prediction.choices         ? typed === answer :
                               near(Number(typed.replace(/[,\s]/g, '').replace('−', '-')), answer);
      this.reveal(right ? 'right' : 'wrong');
    }

    reveal(kind) {
      const {prediction} = this.panel;
      this.revealed = true;
      const begin = kind === 'right' ? 'Right. ' : kind === 'wrong' ? 'Not quite. ' : '';
      this.refresh();
      this.verdict.className = `verdict ${kind}`;
      this.verdict.textContent = begin + prediction.because(this.model);
    }

    question() {
      const {question, id} = this.panel;
      const reasoning = element('p', {class: 'reasoning', role: 'status'});
      this.forgetAnswer = () => {
        reasoning.textContent = '';
        reasoning.className = 'reasoning';
        choices.forEach((choice) => {
          choice.querySelector('input').checked = false;
        });
      };
      const choices = question.choices.map(
          ([words, right, why], index) => element(
              'label', {class: 'option'}, element('input', {
                type: 'radio',
                name: `${id}-question`,
                value: index,
                onchange: () => {
                  reasoning.className = `reasoning ${right ? 'right' : 'wrong'}`;
                  reasoning.textContent = `${right ? 'Yes. ' : 'No. '}${why}`;
                },
              }),
              element('span', {}, words)));
      return element(
          'fieldset', {class: 'question'}, element('legend', {}, 'Question'),
          element('p', {class: 'asked'}, question.text), choices, reasoning);
    }

    refresh() {
      this.model = this.panel.model(this.values);
      for (const field of this.panel.fields) {
        this.inputs[field.name].node.hidden = Boolean(field.when) && !field.when(this.values);
      }
      this.verdict.textContent = this.revealed ? this.panel.prediction.because(this.model) : '';
      this.verdict.className = 'verdict';
      replace(
          this.answer,
          this.revealed ?
              element(
                  'dl', {},
                  this.panel.answer(this.model)
                      .map(
                          ([what, value, how]) =>
                              [element('dt', {}, what),
                               element(
                                   'dd', {}, element('b', {}, value),
                                   how ? element('span', {class: 'how'}, how) : null)])) :
              element('p', {class: 'hidden-answer'}, 'The answer shows after your prediction.'));
      replace(this.below, this.panel.more ? this.panel.more(this.model, this) : null);
      this.draw();
    }

    draw() {
      const last = this.panel.steps(this.model);
      this.step = Math.min(this.step, last);
      const open = this.revealed || !this.panel.countIsAnswer;
      this.place.textContent = open ? `step ${this.step} of ${last}` : `step ${this.step}`;
      this.saying.textContent = this.panel.say(this.model, this.step, this.revealed);
      if (this.panel.follow) this.panel.follow(this.below, this.step);
      if (this.width > 0)
        replace(this.figure, this.panel.draw(this.width, this.model, this.step, this.revealed));
    }

    // Past the last step Step begins again.
    advance(by) {
      this.stop();
      const count = this.panel.steps(this.model) + 1;
      this.step = (this.step + by + count) % count;
      this.draw();
    }

    togglePlay() {
      if (this.timer !== null) {
        this.stop();
        return;
      }
      if (this.step === this.panel.steps(this.model)) this.step = 0;
      this.playButton.textContent = 'Pause';
      this.draw();
      this.timer = setInterval(() => {
        const last = this.panel.steps(this.model);
        if (this.step < last) this.step += 1;
        if (this.step >= last) this.stop();
        this.draw();
      }, this.panel.beat || beat());
    }

    stop() {
      clearInterval(this.timer);
      this.timer = null;
      this.playButton.textContent = 'Play';
    }

    reset() {
      this.stop();
      this.revealed = false;
      this.step = 0;
      this.guess.value = '';
      this.forgetAnswer();
      this.put(Object.fromEntries(this.panel.fields.map((field) => [field.name, field.value])));
    }

    key(event) {
      const act = {
        ArrowRight: () => this.advance(1),
        ArrowLeft: () => this.advance(-1),
        ' ': () => this.togglePlay()
      }[event.key];
      if (!act || event.target !== this.figure) return;
      event.preventDefault();
      act();
    }
  }

  ingot.Frame = Frame;
  ingot.panels = [];  // in the order of their files
})();
