import { type Command, Option } from 'commander'
import type { EntrySelection } from '../actions/dead-letters.js'
import type { ReplayOptions } from '../actions/replay.js'
import { limitOption, parseInteger, parsePositiveNumber, reasonOption, repeatable } from './options.js'
import { addExamples, type RunAction, withExamples } from './run-action.js'

/** Options that choose entries. */
const withEntryOptions = (command: Command): Command =>
  command
    .option('--operation <name>', 'of this operation')
    .addOption(
      repeatable('--status <status>', 'pending, replaying, completed or failed').choices([
        'pending',
        'replaying',
        'completed',
        'failed',
      ]),
    )
    .option('--item <id>', 'about this item')
    .option('--older-than <age>', 'made longer ago than this: 30m, 12h, 7d')

/** What could not be saved. */
export function addDeadLetters(root: Command, runAction: RunAction): void {
  const load = () => import('../actions/dead-letters.js')
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
  withEntryOptions(group.command('list').description('list them, oldest first'))
    .addOption(limitOption())
    .action((options: EntrySelection & { limit: number }) =>
      runAction(async (context) => (await load()).listEntries(context, options)),
    )
  group
    .command('show')
    .description('one with its payload and its history')
    .argument('<id>')
    .action((id: string) => runAction(async (context) => (await load()).showEntry(context, id)))
  group
    .command('replay')
    .description(
      'replay one, or all that wait, oldest first; Ctrl-C loses nothing, and the same command goes on',
    )
    .argument('[id]', 'one entry')
    .option('--operation <name>', 'only of this operation')
    .addOption(new Option('-n, --limit <n>', 'how many at the most').argParser(parseInteger(1)))
    .addOption(new Option('--concurrency <n>', 'how many at a time').argParser(parseInteger(1, 100)))
    .addOption(new Option('--rate <n>', 'how many are begun in a second').argParser(parsePositiveNumber))
    .option('--retry-failed', 'also those whose replay failed before')
    .addOption(reasonOption())
    .action((id: string | undefined, options: ReplayOptions) =>
      runAction(async (context) =>
        (await import('../actions/replay.js')).replayEntries(context, id, options),
      ),
    )
  withEntryOptions(group.command('purge').description('delete for good, after asking'))
    .argument('[id...]', 'single entries')
    .option('--all', 'all of them')
    .option('-y, --yes', 'do not ask')
    .addOption(reasonOption())
    .action(
      (ids: readonly string[], options: EntrySelection & { all?: boolean; yes?: boolean; reason?: string }) =>
        runAction(async (context) => (await load()).purgeEntries(context, ids, options)),
    )
  withEntryOptions(group.command('export').description('all that fit as JSON lines'))
    .option('-o, --out <file>', 'where they go (default: printed)')
    .action((options: EntrySelection & { out?: string }) =>
      runAction(async (context) => (await load()).exportEntries(context, options)),
    )
  addExamples(group, {
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
