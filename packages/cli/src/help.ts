import { describeOptions } from '@millrace/server';
import { VERSION } from './version.js';

export const HELP = `millrace ${VERSION}: durable job queue and workflow service on PostgreSQL

Usage:
  millrace [serve] [flags]   run the service
  millrace dev [flags]       the same as serve --dev: on an embedded PostgreSQL, for a developer's machine
  millrace migrate [flags]   bring the database schema up to date and exit
  millrace doctor [flags]    check a database's invariants, read-only (--json for machines)
  millrace openapi           print the OpenAPI description
  millrace --help            print this
  millrace --version         print the version

Each flag has an environment variable; the flag wins. A boolean flag needs no value, or takes =true or =false.

Flags:
${describeOptions()}

Exit codes: 0 success, 1 failure, 2 usage error.`;
