import { get } from '../../api/call.js'
import { useLoad } from '../../api/load.js'
import { access } from '../../api/role.js'
import { forgetToken, token } from '../../api/token.js'
import { Head, Json, Panel, Show } from '../../parts/basics.js'
import { THEMES, theme } from '../../shell/theme.js'
import { Changes } from './changes.js'
import { Explain } from './explain.js'

const MEANS = {
  viewer: 'You may look at everything and change nothing.',
  operator:
    'You may look, reset and trip breakers, replay and delete dead letters, cancel calls and change pools.',
  admin: 'You may do everything, policies and the configuration included.',
}

/** How the page looks, who the reader is, and the configuration in force. */
export function Settings() {
  const config = useLoad('config', (signal) => get<object>('/config', {}, signal))
  return (
    <>
      <Head title="Settings" />
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
          <p>{access.value === undefined ? 'What you may do is not known yet.' : MEANS[access.value.role]}</p>
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
                <button type="button" class="small secondary" onClick={forgetToken}>
                  Forget the token
                </button>
              </p>
            </>
          )}
        </Panel>
        <Changes onChange={config.reload} />
        <Explain />
        <Panel title="Configuration in force" class="wide">
          <Show of={config}>{(data) => <Json value={data} label="Configuration in force" />}</Show>
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
