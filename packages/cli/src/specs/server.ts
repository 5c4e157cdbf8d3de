import { example, spec } from './spec.js';

export const serve = spec({
  name: 'serve',
  summary: 'run the service; also what `millrace` does without a command',
  options: {},
  examples: [
    example('millrace serve --api-keys KEY:acme --worker-token TOKEN', 'on the PostgreSQL of DATABASE_URL'),
    example('millrace serve --database-url postgres://db-a/m --database-url postgres://db-b/m', 'on two of them'),
  ],
  server: true,
});

export const dev = spec({
  name: 'dev',
  summary: "run the service on an embedded PostgreSQL, for a developer's machine",
  options: {},
  examples: [example('millrace dev', 'any token is accepted; data is kept in .millrace/')],
  server: true,
});

export const migrate = spec({
  name: 'migrate',
  summary: 'bring the database schema up to date and exit',
  options: {},
  examples: [example('DATABASE_URL=postgres://… millrace migrate', 'before the new version starts')],
  server: true,
});

export const doctor = spec({
  name: 'doctor',
  summary: "check a database's invariants, read-only (--json for programs)",
  options: {},
  examples: [example('DATABASE_URL=postgres://… millrace doctor --json', 'exits with 1 if an invariant is violated')],
  server: true,
});

export const openapi = spec({
  name: 'openapi',
  summary: 'print the OpenAPI description of the service',
  options: {},
  examples: [example('millrace openapi >openapi.json', 'for generators')],
  server: true,
});
