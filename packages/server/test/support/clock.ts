import type { TestDatabase } from './database.js';

/**
 * A clock that tests can move. All timestamps come from the database clock, so that is the one to move: a schema before
 * pg_catalog in the search path has its own now(), shifted by what the test says.
 * It affects connections opened afterwards, so take the clock before the server starts.
 */
export interface Clock {
  /** Moves the database's now() forward, or back if negative. */
  advance(seconds: number): Promise<void>;
  now(): Promise<Date>;
  /** From here on it stands still between two moves: however slow the machine is, nothing becomes late. */
  freeze(): Promise<void>;
}

const INSTALL = `
  CREATE SCHEMA test_clock;
  CREATE TABLE test_clock.shift (secs float8 NOT NULL, frozen_at timestamptz);
  INSERT INTO test_clock.shift VALUES (0, NULL);
  CREATE FUNCTION test_clock.now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
    AS 'SELECT coalesce(frozen_at, pg_catalog.now()) + secs * interval ''1 second'' FROM test_clock.shift';
  CREATE FUNCTION test_clock.statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
    AS 'SELECT coalesce(frozen_at, pg_catalog.statement_timestamp()) + secs * interval ''1 second''
        FROM test_clock.shift';
  CREATE FUNCTION test_clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
    AS 'SELECT coalesce(frozen_at, pg_catalog.clock_timestamp()) + secs * interval ''1 second'' FROM test_clock.shift';
  DO $$ BEGIN
    EXECUTE format('ALTER DATABASE %I SET search_path = test_clock, pg_catalog, public', current_database());
  END $$`;

export async function controlClock(database: TestDatabase): Promise<Clock> {
  await database.query(INSTALL);
  await database.reconnect();
  return {
    advance: async (seconds) => {
      await database.query('UPDATE test_clock.shift SET secs = secs + $1', [seconds]);
      // Schedulers sleep by their process's monotonic clock, for seconds at most. This saves the tests that wait.
      await database.query(`SELECT pg_notify('millrace', '{"c":0}')`);
    },
    now: async () => {
      const [row] = await database.query<{ now: Date }>('SELECT test_clock.now() AS now');
      return row!.now;
    },
    freeze: async () => {
      await database.query('UPDATE test_clock.shift SET frozen_at = pg_catalog.now()');
    },
  };
}
