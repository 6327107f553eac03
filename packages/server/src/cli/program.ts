import { Command, CommanderError, Option } from 'commander'
import { addAccess } from './commands/access.js'
import { addConfig } from './commands/config.js'
import { addDeadLetters } from './commands/dead-letters.js'
import { addInspect } from './commands/inspect.js'
import { addRun } from './commands/run.js'
import { type RunAction, withExamples } from './commands/run-action.js'
import type { GlobalOptions } from './context/context.js'
import { type CommandFailure, createUsageError, EXIT_CODES, toCommandFailure } from './context/exit.js'
import type { CommandIo } from './context/io.js'

const EXIT_CODE_HELP = `
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
export function createProgram(io: CommandIo, version: string, act: RunAction): Command {
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
      getOutHelpWidth: () => (io.isTerminal ? io.columns() : 100),
      getErrHelpWidth: () => (io.isTerminal ? io.columns() : 100),
      getOutHasColors: () => io.hasColours,
      getErrHasColors: () => io.hasColours,
      // As JSON it is told at the end.
      outputError: (text, write) => root.opts<GlobalOptions>().json || write(text),
    })
    .showSuggestionAfterError(true)
    .exitOverride()
  addRun(root, act)
  addConfig(root, act)
  addInspect(root, act)
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
  return root.addHelpText('after', EXIT_CODE_HELP)
}

/** Says why it ended. */
function printFailure(
  io: CommandIo,
  shared: GlobalOptions,
  { message, hint, code, details }: CommandFailure,
): void {
  if (shared.json) io.err(`${JSON.stringify({ error: code, message, hint, details })}\n`)
  else io.err(`holdfast: ${message}\n${hint === undefined ? '' : `  ${hint}\n`}`)
}

/** Runs one command line. Resolves with what the process ends with. */
export async function runMain(argv: readonly string[], io: CommandIo, version: string): Promise<number> {
  let exit: number = EXIT_CODES.ok
  const root: Command = createProgram(io, version, async (work) => {
    const globalOptions = root.opts<GlobalOptions>()
    exit = (await work({ io, globalOptions })) ?? EXIT_CODES.ok
  })
  try {
    await root.parseAsync([...argv], { from: 'user' })
    return exit
  } catch (error) {
    // It has said what there is to say.
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return EXIT_CODES.ok
      const { json } = root.opts<GlobalOptions>()
      if (json) printFailure(io, { json }, createUsageError(error.message.replace(/^error: /, '')))
      return EXIT_CODES.usage
    }
    const failure = toCommandFailure(error)
    printFailure(io, root.opts<GlobalOptions>(), failure)
    return failure.exit
  }
}
