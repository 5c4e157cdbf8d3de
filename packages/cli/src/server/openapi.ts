import { openApiDocument, UsageError } from '@millrace/server';
import type { Invocation } from '../invocation/invocation.js';

/** Prints the OpenAPI description of the service. */
export async function openApi({ argv, io }: Invocation): Promise<number> {
  if (argv.length > 0) throw new UsageError('openapi takes no flags; see --help');
  await io.print(JSON.stringify(await openApiDocument(), null, 2));
  return 0;
}
