import type { Scenario } from '../scenario.js';
import { check } from '../stage/violation.js';

export const SECRECY: readonly Scenario[] = [
  {
    number: 33,
    title: 'all of the above',
    passes: 'neither worker token nor lease tokens in output',
    judge(evidence) {
      const leaks = evidence.filter(({ output, secrets }) => secrets.some((secret) => output.includes(secret))).length;
      check(leaks === 0, `the output of ${leaks} scenarios has a token in it`);
    },
  },
];
