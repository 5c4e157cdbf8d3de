/**
 * The settings of the embedded PostgreSQL, passed on its command line so that an upgrade of this program changes them
 * too. Durability is the product: fsync, full_page_writes and synchronous_commit keep their safe defaults and are
 * listed so that nobody has to look them up.
 */
export type Settings = Readonly<Record<string, string>>;

export const PORT = '5432';
export const SUPERUSER = 'millrace';
export const DATABASE = 'millrace';

export const SETTINGS: Settings = {
  // A socket in the data directory, which only its owner and root can enter: no port that could clash, and nothing that
  // other users of this machine could connect to. The path is relative to that directory, so its length is no issue.
  listen_addresses: '',
  unix_socket_directories: '.',
  unix_socket_permissions: '0700',
  port: PORT,
  cluster_name: 'millrace',
  // Enough for several processes with ten connections each, and a psql session.
  max_connections: '200',
  shared_buffers: '128MB',
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  // Checkpoints rare enough that a burst of jobs does not write every page twice.
  max_wal_size: '2GB',
  checkpoint_timeout: '15min',
  // A queue's tables are small and change all the time: vacuum them early, at full speed.
  autovacuum_naptime: '10s',
  autovacuum_vacuum_cost_delay: '0',
  random_page_cost: '1.1',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_line_prefix: '%m [%p] ',
  lc_messages: 'C',
};

export const toArguments = (settings: Settings): readonly string[] =>
  Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);

/** Passwords even on the socket: it stays protected if somebody loosens the permissions of the directory. */
export const HBA = `# Written by Millrace when it made this directory.
local all all scram-sha-256
host all all 127.0.0.1/32 scram-sha-256
host all all ::1/128 scram-sha-256
`;
