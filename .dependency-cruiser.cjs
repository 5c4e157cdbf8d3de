/**
 * Imports point down: http | pool | loops -> engine -> domain, store. A rule here is a sentence of docs/architecture.md;
 * change both together or neither.
 */
const server = '^packages/server/src';
const sdk = '^packages/sdk/src';
const cli = '^packages/cli/src';
const dashboard = '^packages/dashboard/src';
const contract = '^packages/contract/';
const npm = '^node_modules/';
const core = 'core';
/** What the server takes from the SDK: the rule of references between steps… */
const references = '^packages/sdk/dist/workflow/references\\.';
/** …and the rules of requests, which it shares with the fake server. */
const rules = '^packages/sdk/dist/rules/index\\.';
/** …and what makes handlers durable, wherever they run. */
const durable = '^packages/sdk/dist/durable/index\\.';
/** What the benchmark compares the service with; installed only where it has been run. */
const peers = '(bullmq|graphile-worker|ioredis|pg-boss)';
/** What a tool may import of a package. */
const face = '^packages/(server/dist/(index|testing)|contract/dist/index|sdk/dist/(worker/)?index)\\.';

/** Every layer of the server, from the top down; what is not in a folder is beside or above them. */
const LAYERS = 'wiring|config|http|relay|cells|pool|loops|engine|store|domain|handlers|embedded|telemetry';
/** Those of them that have rooms; the others are one room each. */
const ROOMY = 'http|engine|store';

/** The rooms of the clients, from the top down. */
const CLI = ['dispatch', 'commands', 'show', 'connection', 'invocation', 'specs', 'terminal'];
const SDK = [
  ...['otel', 'testing', 'worker', 'client', 'durable', 'workflow', 'task', 'http'],
  ...['errors', 'records', 'wire', 'shared', 'json', 'rules'],
];
const WORKER = ['running', 'reports', 'leases', 'calls'];
const DASHBOARD = ['pages', 'shell', 'components', 'api', 'session', 'lib'];

/** `layer` may import itself, the contract, npm packages, Node's own modules and the named layers; nothing else. */
const layer = (name, below, others = []) => ({
  name: `layer-${name}`,
  comment: `${name} may import ${['itself', 'contract', ...below].join(', ')} and nothing else of ours`,
  severity: 'error',
  from: { path: `${server}/${name}/` },
  to: {
    pathNot: [contract, npm, ...others, ...[name, ...below].map((lower) => `${server}/${lower}/`)],
    dependencyTypesNot: [core],
  },
});

/** The rooms of `folder`, from the top down: each may import those after it and none before it. */
const floors = (name, folder, rooms) =>
  rooms.slice(1).map((room, index) => ({
    name: `${name}-${room}-imports-down`,
    comment: `${name}/${room} may not import ${rooms.slice(0, index + 1).join(', ')}, which stand above it`,
    severity: 'error',
    from: { path: `${folder}/${room}/` },
    to: { path: rooms.slice(0, index + 1).map((above) => `${folder}/${above}/`) },
  }));

/** A room without a place among the floors could import whatever it likes. */
const known = (name, folder, rooms) => ({
  name: `${name}-every-room-has-its-place`,
  comment: `a new folder of ${name} gets its place among the others here, and in docs/architecture.md`,
  severity: 'error',
  from: { path: `${folder}/(?!(${rooms.join('|')})/)[^/]+/` },
  to: {},
});

/** The same, for the rooms of a layer of the server: all of its folders, but for those that have rules of their own. */
const stack = (name, rooms, others = []) => [
  ...floors(name, `${server}/${name}`, rooms),
  known(name, `${server}/${name}`, [...rooms, ...others]),
];

/** The files of `folder` itself that put its rooms together: no room imports them. */
const top = (name, folder, files) => ({
  name: `${name}-is-put-together-at-the-top`,
  severity: 'error',
  from: { path: `${folder}/.+/` },
  to: { path: `${folder}/(${files})\\.tsx?$` },
});

/** Two rooms of one floor: neither imports the other. */
const apart = (name, one, other) => ({
  name: `${name}-${one}-and-${other}-stand-apart`,
  severity: 'error',
  from: { path: `${server}/${name}/(${one}|${other})/` },
  to: { path: `${server}/${name}/(${one}|${other})/`, pathNot: `${server}/${name}/$1/` },
});

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'files that import each other cannot be understood, tested or moved one at a time',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-unresolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true, pathNot: `^${peers}$` },
    },
    {
      name: 'contract-stands-alone',
      comment: 'clients will depend on the contract; it depends on no other package of ours',
      severity: 'error',
      from: { path: `${contract}src` },
      to: { path: '^packages/(?!contract/)' },
    },
    {
      name: 'domain-is-pure',
      comment: 'rules do no I/O: no Node module, no driver; croner is arithmetic on dates and may stay',
      severity: 'error',
      from: { path: `${server}/domain/` },
      to: { pathNot: [`${server}/domain/`, contract, rules, `${npm}croner/`] },
    },
    layer('store', ['domain', 'telemetry']),
    ...stack('store', ['handover', 'migrations', 'outbox', 'connection', 'lists', 'turns']),
    apart('store', 'handover', 'outbox'),
    apart('store', 'migrations', 'outbox'),
    apart('store', 'lists', 'turns'),
    {
      name: 'store-rooms-stand-on-its-files',
      comment: 'arrays, rows, statements, batches and failures know no connection',
      severity: 'error',
      from: { path: `${server}/store/[^/]+\\.ts$` },
      to: { path: `${server}/store/[^/]+/` },
    },
    layer('engine', ['domain', 'store', 'telemetry'], [rules]),
    ...stack(
      'engine',
      ['operations', 'insight', 'crons', 'jobs', 'durable', 'workflows', 'outcomes', 'limits', 'leases', 'shared'],
      ['api'],
    ),
    apart('engine', 'operations', 'insight'),
    apart('engine', 'operations', 'crons'),
    apart('engine', 'insight', 'crons'),
    {
      name: 'engine-crons-know-no-jobs',
      comment: 'a schedule knows what it starts by the statements that start it, and by shared/workflow-starter.ts',
      severity: 'error',
      from: { path: `${server}/engine/crons/` },
      to: { path: `${server}/engine/`, pathNot: `${server}/engine/(api\\.ts$|(crons|limits|shared)/)` },
    },
    {
      name: 'engine-interfaces-only-declare',
      comment: 'what http sees of the engine is made of records and of nothing that does anything',
      severity: 'error',
      from: { path: `${server}/engine/api[./]` },
      to: { pathNot: [`${server}/engine/api[./]`, `${server}/domain/`, contract] },
    },
    {
      name: 'engine-interfaces-through-their-face',
      severity: 'error',
      from: { path: `${server}/`, pathNot: `${server}/engine/api[./]` },
      to: { path: `${server}/engine/api/` },
    },
    {
      name: 'engine-is-wired-at-the-top',
      comment: 'engine.ts puts the rooms together; none of them knows it',
      severity: 'error',
      from: { path: `${server}/engine/` },
      to: { path: `${server}/engine/engine\\.ts$` },
    },
    layer('http', ['engine', 'domain', 'telemetry'], [rules]),
    {
      name: 'http-sees-the-engine-through-its-interfaces',
      severity: 'error',
      from: { path: `${server}/http/` },
      to: { path: `${server}/engine/`, pathNot: `${server}/engine/api\\.ts$` },
    },
    ...stack('http', ['routes', 'ui', 'answers', 'requests', 'access']),
    apart('http', 'routes', 'ui'),
    top('http', `${server}/http`, 'app|request-hooks|openapi(-document|-schemas)?'),
    layer('pool', ['engine', 'domain', 'handlers', 'telemetry'], [durable, rules]),
    ...['start-gate', 'executor', 'lanes', 'outcome-writer', 'completion-buffer', 'single-outcomes'].map(
      (stage, index, stages) => ({
        name: `pool-${stage}-hands-on`,
        comment: 'a job goes one way through the pool: no stage knows one before it',
        severity: 'error',
        from: { path: `${server}/pool/${stage}\\.ts$` },
        to: { path: `${server}/pool/(${['worker-pool', ...stages.slice(0, index)].join('|')})\\.ts$` },
      }),
    ),
    layer('cells', ['engine', 'domain']),
    layer('loops', ['engine', 'domain', 'telemetry']),
    layer('relay', ['store', 'telemetry']),
    {
      name: 'relay-knows-only-the-outbox-of-the-store',
      comment: 'the database of the application is not ours: a relay sees nothing of that of the service',
      severity: 'error',
      from: { path: `${server}/relay/` },
      to: { path: `${server}/store/`, pathNot: `${server}/store/outbox/` },
    },
    layer('handlers', ['telemetry'], [references, durable]),
    layer('telemetry', []),
    layer('embedded', ['telemetry']),
    layer('config', ['domain', 'handlers', 'telemetry'], [rules]),
    {
      name: 'wiring-is-for-the-composition-root',
      comment: 'what server.ts puts the layers together with may know them all; none of them knows it',
      severity: 'error',
      from: { path: `${server}/`, pathNot: `${server}/(wiring/|[^/]+\\.ts$)` },
      to: { path: `${server}/wiring/` },
    },
    {
      name: 'every-folder-is-a-layer',
      comment: 'a folder without a rule could import whatever it likes',
      severity: 'error',
      from: { path: `${server}/(?!(${LAYERS})/)[^/]+/` },
      to: {},
    },
    {
      name: 'every-room-has-its-place',
      comment: 'a layer that gets rooms gets a rule that says which of them stands above which',
      severity: 'error',
      from: { path: `${server}/(?!(${ROOMY})/)[^/]+/[^/]+/` },
      to: {},
    },
    {
      name: 'nothing-imports-the-roots',
      comment: 'of the files beside the layers, only the wiring may use lifecycle.ts and version.ts',
      severity: 'error',
      from: { path: `${server}/(?!wiring/)[^/]+/` },
      to: { path: `${server}/[^/]+\\.ts$` },
    },
    {
      name: 'only-store-talks-to-the-driver',
      severity: 'error',
      from: { path: `${server}/`, pathNot: `${server}/store/` },
      to: { path: [`${npm}pg/`, `${npm}@types/pg/`, `${npm}pg-`] },
    },
    {
      name: 'composition-root-is-the-top',
      comment: 'server.ts wires everything; only index.ts, the face of the package, may know it',
      severity: 'error',
      from: { path: `${server}/`, pathNot: `${server}/index\\.ts$` },
      to: { path: `${server}/(server|index)\\.ts$` },
    },
    {
      name: 'server-never-imports-cli',
      severity: 'error',
      from: { path: '^packages/(server|contract)/' },
      to: { path: '^packages/cli/' },
    },
    ...floors('cli', cli, CLI),
    known('cli', cli, [...CLI, 'server']),
    top('cli', cli, 'main'),
    {
      name: 'cli-server-stands-beside-the-client-commands',
      comment: 'of the rest, commands that are a server know the call, its definition and the terminal',
      severity: 'error',
      from: { path: `${cli}/server/` },
      to: { path: `${cli}/`, pathNot: `${cli}/(server|invocation|specs|terminal)/` },
    },
    {
      name: 'cli-commands-are-loaded-by-the-registry',
      comment: 'dispatch/registry.ts imports them when they are called; nothing else knows them',
      severity: 'error',
      from: { path: `${cli}/`, pathNot: `${cli}/(commands|server)/|${cli}/(dispatch/registry|main)\\.ts$` },
      to: { path: `${cli}/(commands|server)/` },
    },
    {
      name: 'client-commands-do-without-the-server',
      comment: 'the server is an optional dependency; what talks to one must not load it',
      severity: 'error',
      from: { path: `${cli}/`, pathNot: `${cli}/(server/|dispatch/help\\.ts$)` },
      to: { path: '^packages/(server|contract)/' },
    },
    {
      name: 'sdk-stands-alone',
      comment:
        'installing the SDK brings nothing else: its wire types are its own, held against the contract by a test',
      severity: 'error',
      from: { path: sdk },
      to: { pathNot: [sdk], dependencyTypesNot: [core] },
    },
    {
      name: 'sdk-client-runs-anywhere',
      // The ordinals of calls are only counted where handlers run: in workers and tests.
      comment: 'the client uses what Node, Bun and Deno share; only workers and tests may need modules of Node',
      severity: 'error',
      from: { path: sdk, pathNot: `${sdk}/((worker|testing)/|durable/call-ordinals)` },
      to: { dependencyTypes: [core] },
    },
    ...floors('sdk', sdk, SDK),
    known('sdk', sdk, SDK),
    top('sdk', sdk, 'index'),
    {
      name: 'sdk-worker-and-testing-stand-apart',
      comment: 'the fake server plays the server to any worker; it knows none',
      severity: 'error',
      from: { path: `${sdk}/(testing|otel)/` },
      to: { path: `${sdk}/worker/` },
    },
    ...floors('worker', `${sdk}/worker`, WORKER),
    known('worker', `${sdk}/worker`, WORKER),
    top('worker', `${sdk}/worker`, 'worker|index'),
    {
      name: 'conformance-stands-alone',
      comment: 'the kit judges any worker from the outside; it shares no code with what it judges',
      severity: 'error',
      from: { path: '^packages/conformance/src' },
      to: { pathNot: ['^packages/conformance/src'], dependencyTypesNot: [core] },
    },
    {
      name: 'conformance-scenarios-are-rows',
      comment: 'the stage and the proxy know nothing of the scenarios that use them',
      severity: 'error',
      from: { path: '^packages/conformance/src/(proxy|stage)/' },
      to: { path: '^packages/conformance/src/scenarios/' },
    },
    {
      name: 'dashboard-uses-the-public-interface',
      comment: 'of ours, the dashboard knows the types of the contract, which leave nothing behind in its files',
      severity: 'error',
      from: { path: dashboard },
      to: { path: '^(packages|tools)/', pathNot: [dashboard, '^packages/contract/dist/index\\.'] },
    },
    {
      name: 'server-never-imports-the-dashboard',
      comment: 'it finds the files by the name of the package, and serves them if they are there',
      severity: 'error',
      from: { path: '^packages/(?!dashboard/)' },
      to: { path: '^packages/dashboard/' },
    },
    ...floors('dashboard', dashboard, DASHBOARD),
    known('dashboard', dashboard, DASHBOARD),
    top('dashboard', dashboard, 'main|router'),
    {
      name: 'dashboard-pages-stand-apart',
      comment: 'what two pages need is a component or a library',
      severity: 'error',
      from: { path: `${dashboard}/pages/([^/]+)/` },
      to: { path: `${dashboard}/pages/`, pathNot: `${dashboard}/pages/$1/` },
    },
    {
      name: 'packages-through-their-face',
      comment: 'another package is imported by its name, never by a path into its sources',
      severity: 'error',
      from: { path: '^packages/([^/]+)/src' },
      to: { path: '^packages/[^/]+/src', pathNot: '^packages/$1/' },
    },
    {
      name: 'no-test-code-in-the-product',
      severity: 'error',
      from: { path: '^(packages|tools)/[^/]+/src' },
      to: { path: '^(packages|tools)/[^/]+/test' },
    },
    {
      name: 'packages-never-import-tools',
      severity: 'error',
      from: { path: '^packages/[^/]+/src' },
      to: { path: '^tools/' },
    },
    {
      name: 'tests-import-only-the-shared-tools',
      severity: 'error',
      from: { path: '^packages/[^/]+/test' },
      to: { path: '^tools/(?!shared/)' },
    },
    {
      name: 'tools-import-packages-through-their-face',
      comment: 'their tests may also use the test database of the server',
      severity: 'error',
      from: { path: '^tools/[^/]+/src' },
      to: { path: '^packages/', pathNot: face },
    },
    {
      name: 'tests-of-tools-import-packages-through-their-face',
      severity: 'error',
      from: { path: '^tools/[^/]+/test' },
      to: { path: '^packages/', pathNot: [face, '^packages/server/test/support/'] },
    },
    {
      name: 'tools-stand-apart',
      comment: 'tools do not import each other; what they have in common is in tools/shared',
      severity: 'error',
      from: { path: '^tools/([^/]+)/' },
      to: { path: '^tools/', pathNot: ['^tools/$1/', '^tools/shared/dist/index\\.'] },
    },
    {
      name: 'shared-tools-stand-alone',
      severity: 'error',
      from: { path: '^tools/shared/' },
      to: { path: '^packages/' },
    },
    {
      name: 'faults-stand-alone',
      comment: 'a fault is one row of the table; what several of them need is in support/ or stage/',
      severity: 'error',
      from: { path: '^tools/chaos/src/faults/\\d' },
      to: { path: '^tools/chaos/src/faults/' },
    },
    {
      name: 'only-the-benchmark-knows-the-peers',
      severity: 'error',
      from: { pathNot: '^tools/bench/src/(contenders|env)/' },
      to: { path: [`^${peers}$`, `node_modules/${peers}/`] },
    },
  ],
  options: {
    doNotFollow: { path: ['node_modules', '/dist/'] },
    exclude: { path: '^packages/sdk/cjs/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    combinedDependencies: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
