import { type Command, Option } from 'commander'
import { ROLES, type Role } from '../../roles.js'
import { reasonOption } from './options.js'
import { addExamples, type RunAction, withExamples } from './run-action.js'

/** Adds the commands of tokens and of shell completion. */
export function addAccess(root: Command, runAction: RunAction): void {
  const load = () => import('../actions/token.js')
  const token = root
    .command('token')
    .description('create, list and revoke tokens of the server; uses the store of the config file')
  withExamples(token, 'holdfast token create grafana --role viewer', 'holdfast token revoke grafana')
  token
    .command('create')
    .description('create a token and print it once')
    .argument('<name>', 'the name of the token in the audit trail')
    .addOption(
      new Option(
        '--role <role>',
        'the role of the token; default: viewer, for the first token admin',
      ).choices(ROLES),
    )
    .addOption(reasonOption())
    .action((name: string, options: { role?: Role; reason?: string }) =>
      runAction(async (context) => (await load()).createTokenCommand(context, name, options)),
    )
  token
    .command('list')
    .description('list tokens without their secrets')
    .action(() => runAction(async (context) => (await load()).listTokensCommand(context)))
  token
    .command('revoke')
    .description('revoke a token immediately')
    .argument('<name>', 'the name of the token')
    .addOption(reasonOption())
    .action((name: string, options: { reason?: string }) =>
      runAction(async (context) => (await load()).revokeTokenCommand(context, name, options)),
    )
  addExamples(token, {
    create: ['holdfast token create grafana --role viewer', 'holdfast token create ann --role admin'],
    list: ['holdfast token list --json'],
    revoke: ['holdfast token revoke grafana --reason "it leaked"'],
  })
  withExamples(
    root
      .command('completion')
      .description('print a shell completion script')
      .argument('<shell>', 'the shell: bash, zsh or fish')
      .action((shell: string) =>
        runAction(async (context) =>
          (await import('../actions/completion.js')).printCompletion(context, root, shell),
        ),
      ),
    'holdfast completion bash > /etc/bash_completion.d/holdfast',
  )
}
