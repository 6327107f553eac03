import { type Command, Option } from 'commander'
import type { BreakersOptions } from '../work/breakers.js'
import type { SessionsOptions } from '../work/sessions.js'
import type { TailOptions } from '../work/tail.js'
import { type Act, withEach, withExamples } from './act.js'
import { above, limit, reason, several } from './options.js'

/** What happens now, and what happened. */
export function addLive(root: Command, act: Act): void {
  const load = () => import('../work/breakers.js')
  const breakers = root
    .command('breakers')
    .description('how breakers stand: live with --url, else as the store has them')
    .addOption(new Option('--state <state>', 'only these').choices(['closed', 'open', 'half_open']))
    .option('--pool <id>', "only those of a pool's members")
    .addOption(limit())
    .option('-w, --watch', 'go on showing them, until Ctrl-C')
    .addOption(new Option('--interval <seconds>', 'how often they are looked at').argParser(above).default(1))
    .action((options: BreakersOptions) => act(async (context) => (await load()).breakers(context, options)))
  withExamples(
    breakers,
    'holdfast breakers --url http://127.0.0.1:8000 --watch',
    'holdfast breakers --state open --json',
    'holdfast breakers reset service:notion --reason "it is back"',
  )
  for (const verb of ['reset', 'trip'] as const)
    breakers
      .command(verb)
      .description(verb === 'reset' ? 'close one and forget its failures' : 'open one')
      .argument('<id>', 'policy:ID, service:NAME or pool:POOL:MEMBER')
      .addOption(reason())
      .action((id: string, options: { reason?: string }) =>
        act(async (context) => (await load()).changeBreaker(context, verb, id, options)),
      )
  withEach(breakers, {
    reset: ['holdfast breakers reset service:notion --url http://127.0.0.1:8000 --reason "it is back"'],
    trip: ['holdfast breakers trip pool:proxies:p1 --url http://127.0.0.1:8000'],
  })
  const sessions = root
    .command('sessions')
    .description('calls that failed at least once, newest first')
    .option('--active', 'those that run now; needs --url')
    .option('--failed', 'those that failed for good')
    .option('--operation <name>', 'of this operation')
    .option('--correlation <id>', 'with this correlation id')
    .addOption(limit())
    .action((options: SessionsOptions) =>
      act(async (context) => (await import('../work/sessions.js')).sessions(context, options)),
    )
  withExamples(
    sessions,
    'holdfast sessions --failed --operation orders.save',
    'holdfast sessions show fetch_1769688000000_k3j9x2ab',
  )
  sessions
    .command('show')
    .description('one with all its attempts')
    .argument('<id>')
    .action((id: string) =>
      act(async (context) => (await import('../work/sessions.js')).showSession(context, id)),
    )
  withEach(sessions, { show: ['holdfast sessions show fetch_1769688000000_k3j9x2ab'] })
  withExamples(
    root
      .command('tail')
      .description('events as they happen, until Ctrl-C; needs --url')
      .addOption(several('--type <type>', 'only events of a type, such as retry_failure'))
      .addOption(several('--operation <name>', 'only of an operation'))
      .action((options: TailOptions) =>
        act(async (context) => (await import('../work/tail.js')).tail(context, options)),
      ),
    'holdfast tail --url http://127.0.0.1:8000',
    'holdfast tail --type circuit_breaker_opened --json | jq .context.id',
  )
  withExamples(
    root
      .command('nodes')
      .description('the processes of a fleet; needs --url')
      .action(() => act(async (context) => (await import('../work/nodes.js')).nodes(context))),
    'holdfast nodes --url http://127.0.0.1:8000',
  )
}
