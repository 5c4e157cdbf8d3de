import type { Run } from '../invocation/context.js';
import type { completion as spec } from '../specs/local.js';
import { EXIT } from '../invocation/exit.js';

/** The scripts ask the program itself, so that they never grow old. What they ask with is not shown in the help. */
const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_millrace() {
  local IFS=$'\\n'
  COMPREPLY=($(millrace __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _millrace millrace`,
  zsh: `#compdef millrace
_millrace() {
  local -a found
  found=("\${(@f)$(millrace __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${found[*]}" ]]; then
    compadd -- "\${found[@]}"
  else
    _files
  fi
}
compdef _millrace millrace`,
  fish: `function __millrace_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found (millrace __complete $words[2..-1] 2>/dev/null)
    if set -q found[1]
        printf '%s\\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c millrace -f -a '(__millrace_complete)'`,
};

export const completion: Run<(typeof spec)['options']> = async ({ args, io }) => {
  await io.print(SCRIPTS[args[0] ?? ''] ?? '');
  return EXIT.ok;
};
