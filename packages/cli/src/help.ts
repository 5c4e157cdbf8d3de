import { describeOptions, VERSION } from '@millrace/server';

export const HELP = `millrace ${VERSION}: durable job queue and workflow service on PostgreSQL

Usage:
  millrace [serve] [flags]   run the service
  millrace migrate [flags]   bring the database schema up to date and end
  millrace doctor [flags]    hold a database against the invariants, read-only (--json for machines)
  millrace openapi           print the OpenAPI description
  millrace --help            print this
  millrace --version         print the version

Each flag has an environment variable; the flag wins. A boolean flag stands alone or takes =true or =false.

Flags:
${describeOptions()}

Exit codes: 0 stopped or done, 1 failed, 2 called wrongly.`;
