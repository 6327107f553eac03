import { WRITTEN_SEVERITIES } from '@holdfast/records/constants'
import { type Command, Option } from 'commander'
import { BREAKER_STATES } from 'holdfast/internal'
import type { BreakersOptions, ChangeOptions } from '../actions/breakers.js'
import type { ErrorsOptions } from '../actions/errors.js'
import type { SessionsOptions } from '../actions/sessions.js'
import type { TailOptions } from '../actions/tail.js'
import { limitOption, parsePositiveNumber, parseTripDuration, reasonOption, repeatable } from './options.js'
import { addExamples, type RunAction, withExamples } from './run-action.js'

/** Adds the commands that show breakers, sessions, errors, events and nodes. */
export function addInspect(root: Command, runAction: RunAction): void {
  const load = () => import('../actions/breakers.js')
  const breakers = root
    .command('breakers')
    .description('show circuit breakers: live with --url, otherwise the states in the store')
    .addOption(new Option('--state <state>', 'only breakers in this state').choices(BREAKER_STATES))
    .option('--pool <id>', 'only breakers of the members of this pool')
    .addOption(limitOption())
    .option('-w, --watch', 'refresh until Ctrl-C')
    .addOption(
      new Option('--interval <seconds>', 'the refresh interval of --watch')
        .argParser(parsePositiveNumber)
        .default(1),
    )
    .action((options: BreakersOptions) =>
      runAction(async (context) => (await load()).listBreakers(context, options)),
    )
  withExamples(
    breakers,
    'holdfast breakers --url http://127.0.0.1:8000 --watch',
    'holdfast breakers --state open --json',
    'holdfast breakers reset service:notion --reason "the service is available again"',
  )
  const idHelp = 'the id of the breaker: policy:ID, service:NAME or pool:POOL:MEMBER'
  breakers
    .command('reset')
    .description('close a breaker and clear its failures')
    .argument('<id>', idHelp)
    .addOption(reasonOption())
    .action((id: string, options: ChangeOptions) =>
      runAction(async (context) => (await load()).changeBreaker(context, 'reset', id, options)),
    )
  breakers
    .command('trip')
    .description('open a breaker for its open duration, for a duration or until it is reset')
    .argument('<id>', idHelp)
    .addOption(
      new Option(
        '--for <duration>',
        'how long it stays open: 90s, 10m, 2h, 1d, or reset for until it is reset',
      ).argParser(parseTripDuration),
    )
    .addOption(reasonOption())
    .action((id: string, options: ChangeOptions) =>
      runAction(async (context) => (await load()).changeBreaker(context, 'trip', id, options)),
    )
  addExamples(breakers, {
    reset: [
      'holdfast breakers reset service:notion --url http://127.0.0.1:8000 --reason "the service is available again"',
    ],
    trip: [
      'holdfast breakers trip pool:proxies:p1 --url http://127.0.0.1:8000',
      'holdfast breakers trip service:notion --for 30m --reason "maintenance"',
    ],
  })
  const sessions = root
    .command('sessions')
    .description('list calls with at least one failed attempt, newest first')
    .option('--active', 'only running calls; requires --url')
    .option('--failed', 'only calls that ended without success')
    .option('--operation <name>', 'only calls of this operation')
    .option('--correlation <id>', 'only calls with this correlation id')
    .addOption(limitOption())
    .action((options: SessionsOptions) =>
      runAction(async (context) => (await import('../actions/sessions.js')).listSessions(context, options)),
    )
  withExamples(
    sessions,
    'holdfast sessions --failed --operation orders.save',
    'holdfast sessions show fetch_1769688000000_k3j9x2ab',
  )
  sessions
    .command('show')
    .description('show one session with all its attempts')
    .argument('<id>', 'the id of the session')
    .action((id: string) =>
      runAction(async (context) => (await import('../actions/sessions.js')).showSession(context, id)),
    )
  withExamples(
    root
      .command('errors')
      .description('list errors grouped by kind, message and operation, the most frequent first')
      .option('--operation <name>', 'only errors of this operation')
      .option('--kind <kind>', 'only errors of this kind of failure')
      .addOption(
        new Option('--severity <severity>', 'only errors of this severity').choices(WRITTEN_SEVERITIES),
      )
      .addOption(
        new Option('--hours <n>', 'the length of the time range, which ends now')
          .argParser(parsePositiveNumber)
          .default(24),
      )
      .addOption(limitOption())
      .action((options: ErrorsOptions) =>
        runAction(async (context) =>
          (await import('../actions/errors.js')).listErrorGroups(context, options),
        ),
      ),
    'holdfast errors --hours 1',
    'holdfast errors --kind rate_limited --operation orders.save',
  )
  addExamples(sessions, { show: ['holdfast sessions show fetch_1769688000000_k3j9x2ab'] })
  withExamples(
    root
      .command('tail')
      .description('show live events until Ctrl-C; requires --url')
      .addOption(repeatable('--type <type>', 'only events of this type, such as retry_failure'))
      .addOption(repeatable('--operation <name>', 'only events of this operation'))
      .action((options: TailOptions) =>
        runAction(async (context) => (await import('../actions/tail.js')).tailEvents(context, options)),
      ),
    'holdfast tail --url http://127.0.0.1:8000',
    'holdfast tail --type circuit_breaker_opened --json | jq .context.id',
  )
  withExamples(
    root
      .command('nodes')
      .description('list the processes of the fleet; requires --url')
      .action(() => runAction(async (context) => (await import('../actions/nodes.js')).listNodes(context))),
    'holdfast nodes --url http://127.0.0.1:8000',
  )
}
