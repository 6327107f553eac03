import { DEAD_LETTER_STATUSES } from '@holdfast/records/constants'
import { type Command, Option } from 'commander'
import type { EntrySelection } from '../actions/dead-letters.js'
import type { ReplayArguments } from '../actions/replay.js'
import {
  formatChoices,
  limitOption,
  parseInteger,
  parsePositiveNumber,
  reasonOption,
  repeatable,
} from './options.js'
import { addExamples, type RunAction, withExamples } from './run-action.js'

/** Adds the options that select dead letters. */
const withEntryOptions = (command: Command): Command =>
  command
    .option('--operation <name>', 'only dead letters of this operation')
    .addOption(
      repeatable(
        '--status <status>',
        `only dead letters with this status: ${formatChoices(DEAD_LETTER_STATUSES)}`,
      ).choices(DEAD_LETTER_STATUSES),
    )
    .option('--item <id>', 'only dead letters of this item')
    .option('--older-than <age>', 'only dead letters older than this: 30m, 12h, 7d')
    .option('--newer-than <age>', 'only dead letters newer than this: 30m, 12h, 7d')
    .option(
      '--search <text>',
      'only dead letters whose item id, correlation id or payload contains this text',
    )

/** Adds the commands of dead letters. */
export function addDeadLetters(root: Command, runAction: RunAction): void {
  const load = () => import('../actions/dead-letters.js')
  const group = root
    .command('dead-letters')
    .alias('dlq')
    .description('list, edit, replay and delete the stored payloads of calls that failed after all retries')
  withExamples(
    group,
    'holdfast dlq list --status failed',
    'holdfast dlq replay --operation mail.save --rate 10',
    'holdfast dlq purge --status completed --older-than 7d --yes',
    'holdfast dlq export --out letters.jsonl',
  )
  withEntryOptions(group.command('list').description('list dead letters, oldest first'))
    .addOption(limitOption())
    .action((options: EntrySelection & { limit: number }) =>
      runAction(async (context) => (await load()).listEntries(context, options)),
    )
  group
    .command('show')
    .description('show one dead letter with its payload and its history')
    .argument('<id>', 'the id of the dead letter')
    .action((id: string) => runAction(async (context) => (await load()).showEntry(context, id)))
  group
    .command('edit')
    .description('replace the payload that replays of a dead letter use; the original payload stays')
    .argument('<id>', 'the id of the dead letter')
    .requiredOption('--payload <file>', 'the JSON file with the new payload; - is standard input')
    .addOption(reasonOption())
    .action((id: string, options: { payload: string; reason?: string }) =>
      runAction(async (context) => (await import('../actions/edit.js')).editEntry(context, id, options)),
    )
  withEntryOptions(
    group
      .command('replay')
      .description(
        'replay one dead letter, or all that match, oldest first; after Ctrl-C the same command continues',
      ),
  )
    .argument('[id]', 'the dead letter to replay')
    .option('--dry-run', 'print the number of matching dead letters and replay none')
    .option('--wait-for-breaker', 'replay what an open breaker rejects when the breaker closes')
    .addOption(
      new Option('-n, --limit <n>', 'the maximum number of replays (default: all)').argParser(
        parseInteger(1),
      ),
    )
    .addOption(
      new Option('--concurrency <n>', 'the number of concurrent replays (default: 4)').argParser(
        parseInteger(1, 100),
      ),
    )
    .addOption(
      new Option('--rate <n>', 'the maximum number of replays per second (default: no limit)').argParser(
        parsePositiveNumber,
      ),
    )
    .option('--retry-failed', 'also replay dead letters whose last replay failed')
    .addOption(reasonOption())
    .action((id: string | undefined, options: ReplayArguments) =>
      runAction(async (context) =>
        (await import('../actions/replay.js')).replayEntries(context, id, options),
      ),
    )
  withEntryOptions(group.command('purge').description('delete dead letters after a confirmation'))
    .argument('[id...]', 'the dead letters to delete')
    .option('--all', 'delete all dead letters')
    .option('-y, --yes', 'delete without a confirmation')
    .addOption(reasonOption())
    .action(
      (ids: readonly string[], options: EntrySelection & { all?: boolean; yes?: boolean; reason?: string }) =>
        runAction(async (context) =>
          (await import('../actions/purge.js')).purgeEntries(context, ids, options),
        ),
    )
  withEntryOptions(group.command('export').description('print the selected dead letters as JSON lines'))
    .option('-o, --out <file>', 'the file to write (default: standard output)')
    .action((options: EntrySelection & { out?: string }) =>
      runAction(async (context) => (await load()).exportEntries(context, options)),
    )
  addExamples(group, {
    list: ['holdfast dlq list --status failed --older-than 1d'],
    show: ['holdfast dlq show dlq_20260129_120000_invoice-7_k3j9x2ab'],
    edit: ['holdfast dlq edit dlq_20260129_120000_invoice-7_k3j9x2ab --payload fixed.json'],
    replay: [
      'holdfast dlq replay --operation mail.save --rate 10',
      `holdfast dlq replay --search '"customer":"acme"' --newer-than 1d --dry-run`,
      'holdfast dlq replay dlq_20260129_120000_invoice-7_k3j9x2ab --url http://127.0.0.1:8000',
    ],
    purge: ['holdfast dlq purge --status completed --older-than 7d --yes'],
    export: ['holdfast dlq export --operation mail.save --out letters.jsonl'],
  })
}
