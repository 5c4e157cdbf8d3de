import { createRequire } from 'node:module';

/**
 * Half of the work of starting a server is compiling the validators of its routes, and nearly every test file starts
 * one. They follow from schemas and settings alone, so the servers of one worker share them.
 */
interface Compiler {
  readonly ajv: { readonly opts: object; readonly formats: object };
  buildValidatorFunction: ((this: Compiler, route: { readonly schema: object }) => unknown) & { shares?: true };
}

const ofFastify = createRequire(createRequire(import.meta.url).resolve('fastify'));
const { prototype } = ofFastify('@fastify/ajv-compiler/lib/validator-compiler') as { readonly prototype: Compiler };

/** This file runs once for each test file, in the same process. */
if (prototype.buildValidatorFunction.shares === undefined) {
  const compile = prototype.buildValidatorFunction;
  const compiled = new Map<string, unknown>();
  prototype.buildValidatorFunction = Object.assign(
    function (this: Compiler, route: { readonly schema: object }): unknown {
      const { coerceTypes, removeAdditional, useDefaults, allErrors } = this.ajv.opts as Record<string, unknown>;
      const settings = [coerceTypes, removeAdditional, useDefaults, allErrors, Object.keys(this.ajv.formats)];
      const key = JSON.stringify([settings, route.schema]);
      const known = compiled.get(key) ?? compile.call(this, route);
      compiled.set(key, known);
      return known;
    },
    { shares: true as const },
  );
}
