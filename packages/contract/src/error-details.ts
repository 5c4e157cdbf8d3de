import { Type, type Static } from 'typebox';
import { nullable } from './schema.js';

/** A longer stack is cut, never refused. */
export const ERROR_STACK_MAX_BYTES = 65_536;

export const ErrorDetails = Type.Object(
  {
    name: Type.Optional(nullable(Type.String({ description: 'The class of the error.', examples: ['TypeError'] }))),
    stack: Type.Optional(nullable(Type.String({ description: 'The stack trace, as the worker reported it.' }))),
  },
  {
    $id: 'ErrorDetails',
    description: `What is known about an error beyond its message; cut at ${ERROR_STACK_MAX_BYTES} bytes.`,
  },
);
export type ErrorDetails = Static<typeof ErrorDetails>;
