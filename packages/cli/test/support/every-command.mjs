// Runs commands one after the other on the streams of this process, as the program itself does. A process of its own
// for each would take most of a minute. The commands are the JSON of the first argument.
import { execute } from '../../dist/main.js';
import { processIo } from '../../dist/terminal/io.js';

const io = processIo();
for (const argv of JSON.parse(process.argv[2])) {
  await io.print(`$ ${argv.join(' ')}`);
  const code = await execute({ argv, env: process.env, io });
  await io.print(`exit ${code}`);
}
process.exit(0);
