import type { Command } from 'commander'
import type { CommandContext } from '../context/context.js'
import { createUsageError } from '../context/exit.js'

/** A command with the arguments that complete it. */
interface CompletionEntry {
  readonly words: string
  readonly next: readonly string[]
}

function completionEntries(command: Command, words: readonly string[] = []): CompletionEntry[] {
  const shared = ['--config', '--url', '--token', '--json', '--help']
  const own = command.options.flatMap(({ long, hidden }) => (long == null || hidden ? [] : [long]))
  const below = command.commands.filter((one) => one.name() !== 'help')
  const names = below.flatMap((one) => [one.name(), ...one.aliases()])
  const next = [...new Set([...names, ...own, ...shared])]
  return [
    { words: words.join(' '), next },
    ...below.flatMap((one) =>
      [one.name(), ...one.aliases()].flatMap((name) => completionEntries(one, [...words, name])),
    ),
  ]
}

const bashScript = (
  places: readonly CompletionEntry[],
): string => `# holdfast completion bash > /etc/bash_completion.d/holdfast
_holdfast() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" words="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) words="\${words:+$words }$word" ;; esac
  done
  local next
  case "$words" in
${places.map(({ words, next }) => `    "${words}") next="${next.join(' ')}" ;;`).join('\n')}
    *) next="--config --url --token --json --help" ;;
  esac
  COMPREPLY=($(compgen -W "$next" -- "$cur"))
  [[ \${#COMPREPLY[@]} -eq 0 ]] && COMPREPLY=($(compgen -f -- "$cur"))
}
complete -F _holdfast holdfast
`

const zshScript = (places: readonly CompletionEntry[]): string => `#compdef holdfast
# holdfast completion zsh > "\${fpath[1]}/_holdfast"
_holdfast() {
  local spoken="\${(j: :)\${(@)words[2,CURRENT-1]:#-*}}"
  local -a next
  case "$spoken" in
${places.map(({ words, next }) => `    "${words}") next=(${next.join(' ')}) ;;`).join('\n')}
    *) next=(--config --url --token --json --help) ;;
  esac
  compadd -- $next
  _files
}
compdef _holdfast holdfast
`

const fishScript = (places: readonly CompletionEntry[]): string => {
  const lines = places.flatMap(({ words, next }) =>
    next.map((word) => {
      const at = `test (string join " " (string match -v -- "-*" (commandline -opc)[2..])) = "${words}"`
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-a ${word}`
      return `complete -c holdfast -n '${at}' ${what}`
    }),
  )
  return `# holdfast completion fish > ~/.config/fish/completions/holdfast.fish\n${lines.join('\n')}\n`
}

const SHELLS = { bash: bashScript, zsh: zshScript, fish: fishScript }

/** `completion SHELL`: prints a completion script. */
export async function printCompletion(
  { io }: CommandContext,
  program: Command,
  shell: string,
): Promise<void> {
  const formatScript = Object.hasOwn(SHELLS, shell) ? SHELLS[shell as keyof typeof SHELLS] : undefined
  if (formatScript === undefined)
    throw createUsageError(`completion: expected one of ${Object.keys(SHELLS).join(', ')}, got ${shell}`)
  io.out(formatScript(completionEntries(program)))
}
