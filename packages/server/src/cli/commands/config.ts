import type { Command } from 'commander'
import type { MigrateOptions } from '../actions/migrate.js'
import { limitOption, parseInteger, reasonOption } from './options.js'
import { addExamples, type RunAction, withExamples } from './run-action.js'

/** What is about the config file. */
export function addConfig(root: Command, runAction: RunAction): void {
  withExamples(
    root
      .command('init')
      .description('write a first config file, after a few questions')
      .option('-y, --yes', 'ask nothing')
      .option('-f, --force', 'write over a file that is there')
      .action((options: { yes?: boolean; force?: boolean }) =>
        runAction(async (context) => (await import('../actions/init.js')).initConfig(context, options)),
      ),
    'holdfast init',
    'holdfast init --yes --config retry.yaml',
  )
  withExamples(
    root
      .command('check')
      .description('say what is wrong with a config file, with line and column')
      .argument('[file]', 'the file; - reads what is piped in')
      .action((file: string | undefined) =>
        runAction(async (context) => {
          await import('../actions/disable-zod-jit.js')
          return (await import('../actions/check.js')).checkFile(context, file)
        }),
      ),
    'holdfast check',
    'holdfast check prod.yaml --json',
    'envsubst < template.yaml | holdfast check -',
  )
  withExamples(
    root
      .command('explain')
      .description('what applies to an operation: values, where they come from, and the delays they mean')
      .argument('<operation>', 'such as orders.save, or the id of a policy')
      .option('-a, --all', 'also values that nobody chose')
      .action((operation: string, options: { all?: boolean }) =>
        runAction(async (context) =>
          (await import('../actions/explain.js')).printExplanation(context, operation, options),
        ),
      ),
    'holdfast explain orders.save',
    'holdfast explain fetch --all --url http://127.0.0.1:8000',
  )
  withExamples(
    root
      .command('policies')
      .description('list policies with every value filled in')
      .action(() =>
        runAction(async (context) => (await import('../actions/policies.js')).listPolicies(context)),
      ),
    'holdfast policies',
    'holdfast policies --json | jq ".items[].id"',
  )
  withExamples(
    root
      .command('migrate')
      .description('make a config file of old settings, or records of old records (.jsonl)')
      .argument('<file|dir>', 'what is read; it is not changed')
      .option('-o, --out <file>', 'where the result goes (default: printed)')
      .option('-f, --force', 'write over a file that is there')
      .action((path: string, options: MigrateOptions) =>
        runAction(async (context) =>
          (await import('../actions/migrate.js')).migratePath(context, path, options),
        ),
      ),
    'holdfast migrate old-configs/ --out holdfast.yaml',
    'holdfast migrate sessions.jsonl --out sessions.new.jsonl',
  )
  withExamples(
    root
      .command('types')
      .description("the file's policies, operations, breakers and pools as TypeScript types")
      .option('-o, --out <file>', 'where they go (default: printed)')
      .action((options: { out?: string }) =>
        runAction(async (context) => (await import('../actions/types.js')).printTypes(context, options)),
      ),
    'holdfast types --out src/holdfast-names.ts',
  )
  addChanges(root, runAction)
}

/** What is in force, and its history. */
function addChanges(root: Command, runAction: RunAction): void {
  const config = root.command('config').description('what is in force, and the changes made through the API')
  const load = () => import('../actions/config.js')
  withExamples(
    config,
    'holdfast config diff --url http://127.0.0.1:8000',
    'holdfast config rollback 3 --reason "too eager"',
  )
  config
    .command('reload')
    .description('have a server read its file again')
    .addOption(reasonOption())
    .action((options: { reason?: string }) =>
      runAction(async (context) => (await load()).reloadConfig(context, options)),
    )
  config
    .command('diff')
    .description('what differs between the file and what is in force, or another file')
    .argument('[other]', 'another config file')
    .action((other: string | undefined) =>
      runAction(async (context) => (await load()).diffConfig(context, other)),
    )
  config
    .command('history')
    .description('versions of the changes made through the API, newest first')
    .addOption(limitOption())
    .action((options: { limit: number }) =>
      runAction(async (context) => (await load()).listHistory(context, options)),
    )
  config
    .command('rollback')
    .description('go back to an earlier version of those changes')
    .argument('<version>', 'as history lists it', parseInteger(0))
    .addOption(reasonOption())
    .action((version: number, options: { reason?: string }) =>
      runAction(async (context) => (await load()).rollbackConfig(context, version, options)),
    )
  config
    .command('export')
    .description('what is in force as a file would say it, without secrets')
    .option('-o, --out <file>', 'where it goes (default: printed)')
    .action((options: { out?: string }) =>
      runAction(async (context) => (await load()).exportConfig(context, options)),
    )
  config
    .command('clear')
    .description('drop all changes made through the API')
    .addOption(reasonOption())
    .action((options: { reason?: string }) =>
      runAction(async (context) => (await load()).clearChanges(context, options)),
    )
  addExamples(config, {
    reload: ['holdfast config reload --url http://127.0.0.1:8000'],
    diff: ['holdfast config diff --url http://127.0.0.1:8000', 'holdfast config diff prod.yaml'],
    history: ['holdfast config history --limit 10'],
    rollback: ['holdfast config rollback 3 --reason "too eager"', 'holdfast config rollback 0'],
    export: ['holdfast config export --out in-force.yaml', 'holdfast config export --json | jq .policies'],
    clear: ['holdfast config clear --reason "the file has it now"'],
  })
}
