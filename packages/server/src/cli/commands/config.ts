import type { Command } from 'commander'
import type { MigrateOptions } from '../actions/migrate.js'
import { limitOption, parseInteger, reasonOption } from './options.js'
import { addExamples, type RunAction, withExamples } from './run-action.js'

/** Adds the commands of the config file. */
export function addConfig(root: Command, runAction: RunAction): void {
  withExamples(
    root
      .command('init')
      .description('create a config file, after a few questions')
      .option('-y, --yes', 'use the defaults without questions')
      .option('-f, --force', 'overwrite an existing file')
      .action((options: { yes?: boolean; force?: boolean }) =>
        runAction(async (context) => (await import('../actions/init.js')).initConfig(context, options)),
      ),
    'holdfast init',
    'holdfast init --yes --config retry.yaml',
  )
  withExamples(
    root
      .command('check')
      .description('check a config file and print its problems with line and column')
      .argument('[file]', 'the file (default: the file of --config); - reads standard input')
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
      .description('show the effective values of an operation, their origins and the resulting delays')
      .argument('<operation>', 'an operation such as orders.save, or the id of a policy')
      .option('-a, --all', 'also show built-in defaults')
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
      .description('list policies with all their values, defaults included')
      .action(() =>
        runAction(async (context) => (await import('../actions/policies.js')).listPolicies(context)),
      ),
    'holdfast policies',
    'holdfast policies --json | jq ".items[].id"',
  )
  withExamples(
    root
      .command('migrate')
      .description('convert old config files, or old records (.jsonl)')
      .argument('<file|dir>', 'the old file or folder; it is not changed')
      .option('-o, --out <file>', 'the file to write (default: standard output)')
      .option('-f, --force', 'overwrite an existing file')
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
      .description('print the policies, operations, breakers and pools of the file as TypeScript types')
      .option('-o, --out <file>', 'the file to write (default: standard output)')
      .action((options: { out?: string }) =>
        runAction(async (context) => (await import('../actions/types.js')).printTypes(context, options)),
      ),
    'holdfast types --out src/holdfast-names.ts',
  )
  addChanges(root, runAction)
}

/** Adds the commands of the effective configuration and its history. */
function addChanges(root: Command, runAction: RunAction): void {
  const config = root.command('config').description('the effective configuration, and the live changes')
  const load = () => import('../actions/config.js')
  withExamples(
    config,
    'holdfast config diff --url http://127.0.0.1:8000',
    'holdfast config rollback 3 --reason "too many retries"',
  )
  config
    .command('reload')
    .description('reload the config file of a server')
    .addOption(reasonOption())
    .action((options: { reason?: string }) =>
      runAction(async (context) => (await load()).reloadConfig(context, options)),
    )
  config
    .command('diff')
    .description('compare the file with the effective configuration, or with another file')
    .argument('[other]', 'another config file')
    .action((other: string | undefined) =>
      runAction(async (context) => (await load()).diffConfig(context, other)),
    )
  config
    .command('history')
    .description(
      'list the versions of the live changes, newest first, or the values that one version changed',
    )
    .argument('[version]', 'a version, to list the values that it changed', parseInteger(1))
    .addOption(limitOption())
    .action((version: number | undefined, options: { limit: number }) =>
      runAction(async (context) =>
        version === undefined
          ? (await load()).listHistory(context, options)
          : (await load()).showVersion(context, version),
      ),
    )
  config
    .command('rollback')
    .description('restore an earlier version of the live changes')
    .argument('<version>', 'a version that config history lists; 0 for none of the changes', parseInteger(0))
    .addOption(reasonOption())
    .action((version: number, options: { reason?: string }) =>
      runAction(async (context) => (await load()).rollbackConfig(context, version, options)),
    )
  config
    .command('export')
    .description('print the effective configuration as a config file, without secrets')
    .option('-o, --out <file>', 'the file to write (default: standard output)')
    .action((options: { out?: string }) =>
      runAction(async (context) => (await load()).exportConfig(context, options)),
    )
  config
    .command('clear')
    .description('discard all live changes')
    .addOption(reasonOption())
    .action((options: { reason?: string }) =>
      runAction(async (context) => (await load()).clearChanges(context, options)),
    )
  addExamples(config, {
    reload: ['holdfast config reload --url http://127.0.0.1:8000'],
    diff: ['holdfast config diff --url http://127.0.0.1:8000', 'holdfast config diff prod.yaml'],
    history: ['holdfast config history --limit 10', 'holdfast config history 3'],
    rollback: ['holdfast config rollback 3 --reason "too many retries"', 'holdfast config rollback 0'],
    export: ['holdfast config export --out effective.yaml', 'holdfast config export --json | jq .policies'],
    clear: ['holdfast config clear --reason "the file contains the change now"'],
  })
}
