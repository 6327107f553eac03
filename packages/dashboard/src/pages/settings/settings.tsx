import { getJson } from '../../api/client.js'
import { access } from '../../api/role.js'
import { clearToken, token } from '../../api/token.js'
import { useQuery } from '../../api/use-query.js'
import { Json, PageHead, Panel, QueryView } from '../../components/basics.js'
import { THEMES, theme } from '../../theme.js'
import { ConfigChanges } from './changes.js'
import { ExplainForm } from './explain.js'

const ROLE_DESCRIPTIONS = {
  viewer: 'You may look at everything and change nothing.',
  operator:
    'You may look, reset and trip breakers, replay and delete dead letters, cancel calls and change pools.',
  admin: 'You may do everything, policies and the configuration included.',
}

/** How the page looks, who the reader is, and the configuration in force. */
export function Settings() {
  const config = useQuery('config', (signal) => getJson<object>('/config', {}, signal))
  return (
    <>
      <PageHead title="Settings" />
      <div class="panels">
        <Panel title="Theme">
          <div role="group" aria-label="Theme">
            {THEMES.map((one) => (
              <button
                type="button"
                class="small secondary"
                aria-pressed={theme.value === one}
                onClick={() => {
                  theme.value = one
                }}
              >
                {one}
              </button>
            ))}
          </div>
        </Panel>
        <Panel title="You">
          <p>
            {access.value === undefined
              ? 'What you may do is not known yet.'
              : ROLE_DESCRIPTIONS[access.value.role]}
          </p>
          {token.value === undefined ? (
            <p class="hint">No token is needed on this machine, as long as none was made.</p>
          ) : (
            <>
              {access.value?.token === true && (
                <p class="hint">
                  Your token is called {access.value.name}: what you change is written down under that name.
                </p>
              )}
              <p>
                <button type="button" class="small secondary" onClick={clearToken}>
                  Forget the token
                </button>
              </p>
            </>
          )}
        </Panel>
        <ConfigChanges onChange={config.reload} />
        <ExplainForm />
        <Panel title="Configuration in force" class="wide">
          <QueryView of={config}>{(data) => <Json value={data} label="Configuration in force" />}</QueryView>
        </Panel>
        <Panel title="More" class="wide">
          <p>
            <a href="/docs">The REST interface</a>, <a href="/openapi.json">as OpenAPI</a>,{' '}
            <a href="/health/ready">health</a>.
          </p>
        </Panel>
      </div>
    </>
  )
}
