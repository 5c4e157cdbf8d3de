import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { JWT_SECRET, useTestServer } from '../support/server.js';
import { readRepositoryFile } from './generated.js';

const server = await useTestServer();
const SHELLS = ['sh', 'bash', 'dash', 'zsh'].filter((shell) => spawnSync(shell, ['-c', ':']).status === 0);
const BLOCK = /^### Making a JWT\n[^]*?^```sh\n([^]*?)^```$/m;

it.each(SHELLS)('the JWT of docs/operations.md, made in %s, is accepted', async (shell) => {
  const [, block = ''] = BLOCK.exec(readRepositoryFile('docs/operations.md')) ?? [];
  const env = { PATH: process.env.PATH, MILLRACE_JWT_SECRET: JWT_SECRET };
  const token = spawnSync(shell, ['-c', block], { env, encoding: 'utf8' }).stdout.trim();
  const { body } = await server.as(token).get('/api/v1/whoami');
  expect(body).toMatchObject({ kind: 'tenant', tenant_id: 'acme', read_only: false });
});
