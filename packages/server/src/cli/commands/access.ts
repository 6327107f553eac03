import { type Command, Option } from 'commander'
import { ROLES, type Role } from '../../roles.js'
import { reasonOption } from './options.js'
import { addExamples, type RunAction, withExamples } from './run-action.js'

/** Who is let in, and the words of the command itself. */
export function addAccess(root: Command, runAction: RunAction): void {
  const load = () => import('../actions/token.js')
  const token = root.command('token').description("who is let in to the server; works on the config's store")
  withExamples(token, 'holdfast token create grafana --role viewer', 'holdfast token revoke grafana')
  token
    .command('create')
    .description('make a token and show it once')
    .argument('<name>', 'whose it is, for the audit trail')
    .addOption(new Option('--role <role>', 'what it may do').choices(ROLES).default('viewer'))
    .addOption(reasonOption())
    .action((name: string, options: { role: Role; reason?: string }) =>
      runAction(async (context) => (await load()).createTokenCommand(context, name, options)),
    )
  token
    .command('list')
    .description('list them, without what opens the door')
    .action(() => runAction(async (context) => (await load()).listTokensCommand(context)))
  token
    .command('revoke')
    .description('make one worthless, at once')
    .argument('<name>')
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
      .description('a script that completes the words of this command')
      .argument('<shell>', 'bash, zsh or fish')
      .action((shell: string) =>
        runAction(async (context) =>
          (await import('../actions/completion.js')).printCompletion(context, root, shell),
        ),
      ),
    'holdfast completion bash > /etc/bash_completion.d/holdfast',
  )
}
