import type { Command } from 'commander'
import type { MigrateOptions } from '../work/migrate.js'
import { type Act, withEach, withExamples } from './act.js'
import { limit, reason, whole } from './options.js'

/** What is about the config file. */
export function addConfig(root: Command, act: Act): void {
  withExamples(
    root
      .command('init')
      .description('write a first config file, after a few questions')
      .option('-y, --yes', 'ask nothing')
      .option('-f, --force', 'write over a file that is there')
      .action((options: { yes?: boolean; force?: boolean }) =>
        act(async (context) => (await import('../work/init.js')).init(context, options)),
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
        act(async (context) => {
          await import('../once.js')
          return (await import('../work/check.js')).check(context, file)
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
        act(async (context) => (await import('../work/explain.js')).explain(context, operation, options)),
      ),
    'holdfast explain orders.save',
    'holdfast explain fetch --all --url http://127.0.0.1:8000',
  )
  withExamples(
    root
      .command('policies')
      .description('list policies with every value filled in')
      .action(() => act(async (context) => (await import('../work/policies.js')).policies(context))),
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
        act(async (context) => (await import('../work/migrate.js')).migrate(context, path, options)),
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
        act(async (context) => (await import('../work/types.js')).types(context, options)),
      ),
    'holdfast types --out src/holdfast-names.ts',
  )
  addChanges(root, act)
}

/** What is in force, and its history. */
function addChanges(root: Command, act: Act): void {
  const config = root.command('config').description('what is in force, and the changes made through the API')
  const load = () => import('../work/config.js')
  withExamples(
    config,
    'holdfast config diff --url http://127.0.0.1:8000',
    'holdfast config rollback 3 --reason "too eager"',
  )
  config
    .command('reload')
    .description('have a server read its file again')
    .addOption(reason())
    .action((options: { reason?: string }) => act(async (context) => (await load()).reload(context, options)))
  config
    .command('diff')
    .description('what differs between the file and what is in force, or another file')
    .argument('[other]', 'another config file')
    .action((other: string | undefined) => act(async (context) => (await load()).diff(context, other)))
  config
    .command('history')
    .description('versions of the changes made through the API, newest first')
    .addOption(limit())
    .action((options: { limit: number }) => act(async (context) => (await load()).history(context, options)))
  config
    .command('rollback')
    .description('go back to an earlier version of those changes')
    .argument('<version>', 'as history lists it', whole(0))
    .addOption(reason())
    .action((version: number, options: { reason?: string }) =>
      act(async (context) => (await load()).rollback(context, version, options)),
    )
  config
    .command('export')
    .description('what is in force as a file would say it, without secrets')
    .option('-o, --out <file>', 'where it goes (default: printed)')
    .action((options: { out?: string }) =>
      act(async (context) => (await load()).exportConfig(context, options)),
    )
  config
    .command('clear')
    .description('drop all changes made through the API')
    .addOption(reason())
    .action((options: { reason?: string }) => act(async (context) => (await load()).clear(context, options)))
  withEach(config, {
    reload: ['holdfast config reload --url http://127.0.0.1:8000'],
    diff: ['holdfast config diff --url http://127.0.0.1:8000', 'holdfast config diff prod.yaml'],
    history: ['holdfast config history --limit 10'],
    rollback: ['holdfast config rollback 3 --reason "too eager"', 'holdfast config rollback 0'],
    export: ['holdfast config export --out in-force.yaml', 'holdfast config export --json | jq .policies'],
    clear: ['holdfast config clear --reason "the file has it now"'],
  })
}
