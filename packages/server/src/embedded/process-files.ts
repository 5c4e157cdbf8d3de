import { randomBytes } from 'node:crypto';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { identifySelf, isAlive, type ProcessIdentity } from './processes.js';

/**
 * Files that stand for processes: the name carries the identity of the process that wrote it, so no other process ever
 * writes that name, and any process may remove the file of a dead one. That is why a kill -9 leaves nothing behind that
 * others would have to wait for.
 *
 * A name is `<pid>.<start>.<random>.<role>`; one process may hold several.
 */
export interface ProcessFile {
  readonly name: string;
  readonly role: string;
  readonly process: ProcessIdentity;
}

const NAME = /^(\d+)\.([^.]+)\.([0-9a-f]+)\.([a-z0-9-]+)$/;

/** A new name for a file of this process. */
export function newProcessFileId(): string {
  const { pid, started } = identifySelf();
  return `${pid}.${encodeURIComponent(started).replaceAll('.', '%2E')}.${randomBytes(6).toString('hex')}`;
}

export function addProcessFile(dir: string, id: string, role: string): string {
  const name = `${id}.${role}`;
  writeFileSync(join(dir, name), '', { flag: 'wx', mode: 0o600 });
  return name;
}

export function removeProcessFile(dir: string, name: string): void {
  rmSync(join(dir, name), { force: true });
}

/** The files whose processes are alive. Files of dead ones are removed in passing. */
export function liveProcessFiles(dir: string): readonly ProcessFile[] {
  const live: ProcessFile[] = [];
  for (const name of readdirSync(dir)) {
    const member = parse(name);
    if (member === null) continue;
    if (isAlive(member.process)) live.push(member);
    else removeProcessFile(dir, name);
  }
  return live;
}

function parse(name: string): ProcessFile | null {
  const [, pid, started, , role] = NAME.exec(name) ?? [];
  if (pid === undefined || started === undefined || role === undefined) return null;
  return { name, role, process: { pid: Number(pid), started: decodeURIComponent(started) } };
}
