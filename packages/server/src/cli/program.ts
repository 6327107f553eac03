import { Command, CommanderError } from 'commander'
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
  0    success
  1    failure; also a request with a response of status 400 or above
  2    invalid arguments
  3    invalid config file
  4    the server or the store cannot be reached
  5    the token is missing, unknown, or has too low a role
  130  interrupted by Ctrl-C

Environment
  HOLDFAST_URL, HOLDFAST_TOKEN   defaults of --url and --token
  NO_COLOR                       disables colours
`

/** Creates all commands with their options. The code of an action is loaded when its command runs. */
export function createProgram(io: CommandIo, version: string, runAction: RunAction): Command {
  const root = new Command('holdfast')
    .description('Retries, circuit breakers and dead letters: inspect, check and run them.')
    .version(version)
    .option('-c, --config <file>', 'the config file (default: ./holdfast.yaml)')
    .option('--url <url>', 'a running server, such as http://127.0.0.1:8000')
    .option(
      '--token <token>',
      'the token for the server; other users see it in the list of processes, not in HOLDFAST_TOKEN',
    )
    .option('--json', 'print JSON as in the REST API, lists as { items }')
    .configureHelp({ showGlobalOptions: true, sortSubcommands: false })
    .configureOutput({
      writeOut: (text) => io.out(text),
      writeErr: (text) => io.err(text),
      getOutHelpWidth: () => (io.isTerminal ? io.columns() : 100),
      getErrHelpWidth: () => (io.isTerminal ? io.columns() : 100),
      getOutHasColors: () => io.hasColours,
      getErrHasColors: () => io.hasColours,
      // With --json the error is printed at the end.
      outputError: (text, write) => root.opts<GlobalOptions>().json || write(text),
    })
    .showSuggestionAfterError(true)
    .exitOverride()
  addRun(root, runAction)
  addConfig(root, runAction)
  addInspect(root, runAction)
  addDeadLetters(root, runAction)
  addAccess(root, runAction)
  withExamples(
    root,
    'holdfast serve --demo                         start a server with demo services and traffic',
    'holdfast check                                check holdfast.yaml',
    'holdfast explain orders.save                  show the effective values of an operation',
    'holdfast breakers --url http://127.0.0.1:8000 --watch',
    'holdfast dead-letters replay --operation mail.save',
  )
  return root.addHelpText('after', EXIT_CODE_HELP)
}

/** Prints the failure of a command. */
function printFailure(
  io: CommandIo,
  globalOptions: GlobalOptions,
  { message, hint, code, details }: CommandFailure,
): void {
  if (globalOptions.json) io.err(`${JSON.stringify({ error: code, message, hint, details })}\n`)
  else io.err(`holdfast: ${message}\n${hint === undefined ? '' : `  ${hint}\n`}`)
}

/** Runs one command line. Resolves with the exit code. */
export async function runMain(argv: readonly string[], io: CommandIo, version: string): Promise<number> {
  let exit: number = EXIT_CODES.ok
  const root: Command = createProgram(io, version, async (action) => {
    const globalOptions = root.opts<GlobalOptions>()
    exit = (await action({ io, globalOptions })) ?? EXIT_CODES.ok
  })
  try {
    await root.parseAsync([...argv], { from: 'user' })
    return exit
  } catch (error) {
    // Commander has printed the error already, except with --json.
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
