import type { Command } from 'commander'
import type { RequestCommandOptions } from '../actions/request.js'
import type { ServeCommandOptions } from '../actions/serve.js'
import { parseInteger, repeatable } from './options.js'
import { type RunAction, withExamples } from './run-action.js'

/** Adds the commands that run the server, the forward proxy, or a request. */
export function addRun(root: Command, runAction: RunAction): void {
  withExamples(
    root
      .command('serve')
      .description(
        'run the server with the dashboard, and the forward proxy if the config has one, until Ctrl-C',
      )
      .option('--demo', 'start demo services and traffic; data is stored in ./data')
      .option('--host <address>', 'the address to listen on; an address other than loopback requires a token')
      .option('-p, --port <port>', 'the port; 0 selects a free one', parseInteger(0, 65_535))
      .option('--proxy-port <port>', 'the port of the forward proxy', parseInteger(0, 65_535))
      .action((options: ServeCommandOptions) =>
        runAction(async (context) => (await import('../actions/serve.js')).runServe(context, options)),
      ),
    'holdfast serve',
    'holdfast serve --demo',
    'holdfast serve --config prod.yaml --port 9000',
  )
  withExamples(
    root
      .command('proxy')
      .description('run only the forward proxy, until Ctrl-C')
      .option('--host <address>', 'the address to listen on; an address other than loopback requires users')
      .option('-p, --port <port>', 'the port; 0 selects a free one', parseInteger(0, 65_535))
      .option('--pool <id>', 'the pool of proxies')
      .action((options: { host?: string; port?: number; pool?: string }) =>
        runAction(async (context) => (await import('../actions/serve.js')).runProxy(context, options)),
      ),
    'holdfast proxy --pool proxies --port 8080',
    'curl -x http://127.0.0.1:8080 https://example.com/',
  )
  withExamples(
    root
      .command('request')
      .description('send one request with a policy through a pool, and show its attempts')
      .argument('<url>', 'the URL of the target')
      .option('-X, --method <method>', 'the method (default: GET, or POST with --data)')
      .addOption(repeatable('-H, --header <line>', 'a header').default([]))
      .option('-d, --data <text>', 'the body')
      .option('--pool <id>', 'the pool to send the request through (default: none)')
      .option('--policy <id>', 'the policy (default: the policy of the pool, otherwise the policy default)')
      .option('-i, --include', 'print the status and the headers before the body')
      .action((url: string, options: RequestCommandOptions) =>
        runAction(async (context) =>
          (await import('../actions/request.js')).sendRequest(context, url, options),
        ),
      ),
    'holdfast request https://example.com/ --pool proxies',
    'holdfast request https://api.example.com/items -X PUT -d \'{"a":1}\' -H "content-type: application/json"',
  )
}
