import { example, JSON_OUTPUT, spec } from './spec.js';

const SETTINGS = ['url', 'token', 'worker-token', 'admin-token'] as const;

export const worker = spec({
  name: 'worker',
  summary: 'run the handlers of a module',
  description:
    'The module exports handlers (`task.handle(…)` of @millrace/sdk), each by itself or in an array, under any ' +
    'names. It runs them until it is told to stop, as the Worker of the SDK does: the first signal lets jobs finish, ' +
    'the second gives them back at once.',
  arguments: [{ name: 'FILE', help: 'a JavaScript module (or TypeScript, if your Node runs it)' }],
  options: {
    queue: { value: 'QUEUE=N', help: 'a queue and how many of its jobs run at a time; may be repeated', many: true },
    concurrency: { value: 'N', help: 'how many jobs of each queue run at a time; default 10' },
    lease: { value: 'DURATION', help: 'how long a job stays leased without a heartbeat; default 60s' },
    shutdown: { value: 'DURATION', help: 'how long a stop waits for handlers; default 25s' },
    name: { value: 'NAME', help: 'the name of the worker in lists; default: host and process' },
  },
  examples: [
    example('millrace worker ./handlers.js', 'the queues of its tasks'),
    example('millrace worker ./handlers.js --queue emails=20 --queue images=4', 'these queues'),
  ],
  client: true,
  ownSignals: true,
});

export const configSet = spec({
  name: 'config set',
  summary: 'store the address of the server and the token in a profile',
  arguments: [
    { name: 'SETTING', help: `one of ${SETTINGS.join(', ')}`, choices: SETTINGS },
    { name: 'VALUE', help: 'its value; - reads it from standard input, which keeps tokens out of the shell history' },
  ],
  options: {
    profile: { value: 'NAME', help: 'the profile to change, which need not exist; otherwise the current one' },
  },
  examples: [
    example('millrace config set url https://millrace.example.com --profile production', 'a second profile'),
    example('millrace config set token - <token.txt', 'from a file'),
  ],
});

export const configShow = spec({
  name: 'config show',
  summary: 'show which server and token are used, and where they come from',
  description: 'Tokens are never shown in full.',
  options: JSON_OUTPUT,
  examples: [example('millrace config show --profile production', 'what that profile means')],
  client: true,
});

export const configUse = spec({
  name: 'config use',
  summary: 'make a profile the current one',
  arguments: [{ name: 'PROFILE', help: 'the name of a profile' }],
  options: {},
  examples: [example('millrace config use production', 'from now on')],
});

export const completion = spec({
  name: 'completion',
  summary: 'print the completion script of a shell',
  arguments: [{ name: 'SHELL', help: 'bash, zsh or fish', choices: ['bash', 'zsh', 'fish'] }],
  options: {},
  examples: [
    example('source <(millrace completion bash)', 'in ~/.bashrc; the same for zsh in ~/.zshrc, after compinit'),
    example('millrace completion fish >~/.config/fish/completions/millrace.fish', 'for fish'),
  ],
});

export const open = spec({
  name: 'open',
  summary: 'open the dashboard in a browser',
  description: 'Prints the address, and opens it where there is a browser and a terminal.',
  options: { print: { help: 'only print the address' } },
  examples: [example('millrace open', 'the dashboard of the current profile')],
  client: true,
});
