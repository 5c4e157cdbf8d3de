// Required by mixed.mjs, which imports the same package.
const { NonRetryableError, RetryAfterError, task, workflow } = require('@millrace/sdk');
const { jsonText } = require('@millrace/sdk/worker');

const fail = task({ name: 'fail' });
const later = task({ name: 'later' });
const precise = task({ name: 'precise' });
const pass = task({ name: 'pass' });

exports.tasks = { fail, later, precise };
exports.errors = { NonRetryableError };
exports.flow = workflow({ name: 'flow' })
  .step('first', precise)
  .step('second', pass, { after: ['first'], payload: ({ steps }) => ({ from: steps.first }) });
exports.handlers = [
  fail.handle(() => {
    throw new NonRetryableError('never');
  }),
  later.handle(() => {
    throw new RetryAfterError('slow down', '90s');
  }),
  precise.handle(() => jsonText('{"n":1e3}')),
  pass.handle(({ from }) => from),
];
