import { Command, CommanderError, Option } from 'commander'
import { addAccess } from './commands/access.js'
import { type Act, withExamples } from './commands/act.js'
import { addConfig } from './commands/config.js'
import { addDeadLetters } from './commands/dead-letters.js'
import { addLive } from './commands/live.js'
import { addRun } from './commands/run.js'
import type { Shared } from './context.js'
import { type CommandFailure, EXIT, failureOf, misused } from './exit.js'
import type { Io } from './io.js'

const EXITS = `
Exit codes
  0    it worked
  1    it was tried and failed; requests answered 400 and above count as that
  2    the words of the command do not fit
  3    the config file cannot be used
  4    the server or the store cannot be reached
  5    a token is missing, wrong, or not enough
  130  Ctrl-C ended it before it was done

Environment
  HOLDFAST_URL, HOLDFAST_TOKEN   stand in for --url and --token
  NO_COLOR                       no colours
`

/** All commands, with their words and nothing of their work: that is loaded when one is run. */
export function program(io: Io, version: string, act: Act): Command {
  const root = new Command('holdfast')
    .description('Keeps calls to unreliable things alive: see, check and run it.')
    .version(version)
    .option('-c, --config <file>', 'the config file (default: ./holdfast.yaml)')
    .option('--url <url>', 'a running server, such as http://127.0.0.1:8000')
    .addOption(new Option('--token <token>', 'what the server asks for; better in HOLDFAST_TOKEN'))
    .option('--json', 'print JSON: the wire spelling, lists as { items }')
    .configureHelp({ showGlobalOptions: true, sortSubcommands: false })
    .configureOutput({
      writeOut: (text) => io.out(text),
      writeErr: (text) => io.err(text),
      getOutHelpWidth: () => (io.terminal ? io.columns() : 100),
      getErrHelpWidth: () => (io.terminal ? io.columns() : 100),
      getOutHasColors: () => io.colours,
      getErrHasColors: () => io.colours,
      // As JSON it is told at the end.
      outputError: (text, write) => root.opts<Shared>().json || write(text),
    })
    .showSuggestionAfterError(true)
    .exitOverride()
  addRun(root, act)
  addConfig(root, act)
  addLive(root, act)
  addDeadLetters(root, act)
  addAccess(root, act)
  withExamples(
    root,
    'holdfast serve --demo                         everything there is to see, with traffic of its own',
    'holdfast check                                is holdfast.yaml right?',
    'holdfast explain orders.save                  what applies to an operation, and why',
    'holdfast breakers --url http://127.0.0.1:8000 --watch',
    'holdfast dead-letters replay --operation mail.save',
  )
  return root.addHelpText('after', EXITS)
}

/** Says why it ended. */
function tell(io: Io, shared: Shared, { message, hint, code, details }: CommandFailure): void {
  if (shared.json) io.err(`${JSON.stringify({ error: code, message, hint, details })}\n`)
  else io.err(`holdfast: ${message}\n${hint === undefined ? '' : `  ${hint}\n`}`)
}

/** Runs one command line. Resolves with what the process ends with. */
export async function main(argv: readonly string[], io: Io, version: string): Promise<number> {
  let exit: number = EXIT.ok
  const root: Command = program(io, version, async (work) => {
    const shared = root.opts<Shared>()
    exit = (await work({ io, shared })) ?? EXIT.ok
  })
  try {
    await root.parseAsync([...argv], { from: 'user' })
    return exit
  } catch (error) {
    // It has said what there is to say.
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return EXIT.ok
      const { json } = root.opts<Shared>()
      if (json) tell(io, { json }, misused(error.message.replace(/^error: /, '')))
      return EXIT.usage
    }
    const failure = failureOf(error)
    tell(io, root.opts<Shared>(), failure)
    return failure.exit
  }
}
