import { type Command, Option } from 'commander'
import type { Choice } from '../work/dead-letters.js'
import type { ReplayOptions } from '../work/replay.js'
import { type Act, withEach, withExamples } from './act.js'
import { above, limit, reason, several, whole } from './options.js'

/** Options that choose entries. */
const choosing = (command: Command): Command =>
  command
    .option('--operation <name>', 'of this operation')
    .addOption(
      several('--status <status>', 'pending, replaying, completed or failed').choices([
        'pending',
        'replaying',
        'completed',
        'failed',
      ]),
    )
    .option('--item <id>', 'about this item')
    .option('--older-than <age>', 'made longer ago than this: 30m, 12h, 7d')

/** What could not be saved. */
export function addDeadLetters(root: Command, act: Act): void {
  const load = () => import('../work/dead-letters.js')
  const group = root
    .command('dead-letters')
    .alias('dlq')
    .description('what failed for good and is kept, and its second chance')
  withExamples(
    group,
    'holdfast dlq list --status failed',
    'holdfast dlq replay --operation mail.save --rate 10',
    'holdfast dlq purge --status completed --older-than 7d --yes',
    'holdfast dlq export --out letters.jsonl',
  )
  choosing(group.command('list').description('list them, oldest first'))
    .addOption(limit())
    .action((options: Choice & { limit: number }) =>
      act(async (context) => (await load()).list(context, options)),
    )
  group
    .command('show')
    .description('one with its payload and its history')
    .argument('<id>')
    .action((id: string) => act(async (context) => (await load()).show(context, id)))
  group
    .command('replay')
    .description(
      'replay one, or all that wait, oldest first; Ctrl-C loses nothing, and the same command goes on',
    )
    .argument('[id]', 'one entry')
    .option('--operation <name>', 'only of this operation')
    .addOption(new Option('-n, --limit <n>', 'how many at the most').argParser(whole(1)))
    .addOption(new Option('--concurrency <n>', 'how many at a time').argParser(whole(1, 100)))
    .addOption(new Option('--rate <n>', 'how many are begun in a second').argParser(above))
    .option('--retry-failed', 'also those whose replay failed before')
    .addOption(reason())
    .action((id: string | undefined, options: ReplayOptions) =>
      act(async (context) => (await import('../work/replay.js')).replay(context, id, options)),
    )
  choosing(group.command('purge').description('delete for good, after asking'))
    .argument('[id...]', 'single entries')
    .option('--all', 'all of them')
    .option('-y, --yes', 'do not ask')
    .addOption(reason())
    .action((ids: readonly string[], options: Choice & { all?: boolean; yes?: boolean; reason?: string }) =>
      act(async (context) => (await load()).purge(context, ids, options)),
    )
  choosing(group.command('export').description('all that fit as JSON lines'))
    .option('-o, --out <file>', 'where they go (default: printed)')
    .action((options: Choice & { out?: string }) =>
      act(async (context) => (await load()).exportAll(context, options)),
    )
  withEach(group, {
    list: ['holdfast dlq list --status failed --older-than 1d'],
    show: ['holdfast dlq show dlq_20260129_120000_invoice-7_k3j9x2ab'],
    replay: [
      'holdfast dlq replay --operation mail.save --rate 10',
      'holdfast dlq replay dlq_20260129_120000_invoice-7_k3j9x2ab --url http://127.0.0.1:8000',
    ],
    purge: ['holdfast dlq purge --status completed --older-than 7d --yes'],
    export: ['holdfast dlq export --operation mail.save --out letters.jsonl'],
  })
}
