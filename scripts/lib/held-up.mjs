import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A machine that is held up: for so many seconds of each minute, whatever is started through `wrap` gets a sixteenth of
 * a core, all of it together. Linux only, for whoever may write control groups.
 */
const PERIOD_US = 100_000;
const LITTLE_US = Math.round(PERIOD_US / 16);

export function heldUp(secs) {
  const one = '/sys/fs/cgroup/cpu';
  const isFirst = existsSync(join(one, 'cpu.cfs_quota_us'));
  const group = join(isFirst ? one : '/sys/fs/cgroup', `millrace-flakes-${process.pid}`);
  mkdirSync(group);
  const give = (us) =>
    isFirst
      ? writeFileSync(join(group, 'cpu.cfs_quota_us'), String(us ?? -1))
      : writeFileSync(join(group, 'cpu.max'), `${us ?? 'max'} ${PERIOD_US}`);
  let end;
  const begin = () => {
    give(LITTLE_US);
    end = setTimeout(() => give(null), secs * 1000);
  };
  begin();
  const minutes = setInterval(begin, 60_000);
  return {
    wrap: (program, args) => ['sh', ['-c', 'echo $$ > "$0/cgroup.procs"; exec "$@"', group, program, ...args]],
    stop: () => {
      clearInterval(minutes);
      clearTimeout(end);
      give(null);
      try {
        rmdirSync(group);
      } catch {
        // Something is still running in it. It is harmless, and gone with the machine.
      }
    },
  };
}
