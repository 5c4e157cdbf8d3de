import { createRequire } from 'node:module';

/**
 * Half of the work of starting a server is compiling the validators of its routes, and nearly every test file starts
 * one. They follow from schemas and settings alone, so the servers of one worker share the compiler and its results.
 */
type Compile = (route: { readonly schema: object }) => unknown;
type BuildCompiler = (schemas: object, options: object) => Compile;
type CompilerPackage = (() => BuildCompiler) & { shares?: true };

const require = createRequire(import.meta.url);
const path = createRequire(require.resolve('fastify')).resolve('@fastify/ajv-compiler');
const original = require(path) as CompilerPackage;

/** This file runs once for each test file, in the same process, and the first time before anything loads fastify. */
if (original.shares === undefined) {
  const build = original();
  const compilers = new Map<string, Compile>();
  const shared: BuildCompiler = (schemas, options) => {
    const key = JSON.stringify([schemas, options]);
    const known = compilers.get(key) ?? remembering(build(schemas, options));
    compilers.set(key, known);
    return known;
  };
  require.cache[path]!.exports = Object.assign(() => shared, original, { shares: true as const });
}

function remembering(compile: Compile): Compile {
  const compiled = new Map<string, unknown>();
  return (route) => {
    const key = JSON.stringify(route.schema);
    const known = compiled.get(key) ?? compile(route);
    compiled.set(key, known);
    return known;
  };
}
