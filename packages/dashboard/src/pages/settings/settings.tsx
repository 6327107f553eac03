import { getJson } from '../../api/client.js'
import { access } from '../../api/role.js'
import { useQuery } from '../../api/use-query.js'
import { Json, PageHead, Panel, QueryView } from '../../components/basics.js'
import { THEMES, theme } from '../../theme.js'
import { ConfigChanges } from './changes.js'
import { ExplainForm } from './explain.js'

const ROLE_DESCRIPTIONS = {
  viewer: 'You can view everything and change nothing.',
  operator:
    'You can view everything, reset and trip breakers, replay and delete dead letters, cancel calls and change pools.',
  admin: 'You can do everything, including changes of policies and of the configuration.',
}

/** The page of the theme, the caller and the effective configuration. */
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
        <Panel title="Your access">
          <p>
            {access.value === undefined
              ? 'Your role is not known yet.'
              : ROLE_DESCRIPTIONS[access.value.role]}
          </p>
          <p class="hint">
            {access.value?.token === true
              ? `Your token is ${access.value.name}. Your changes are recorded under this name.`
              : 'No token is required on this machine as long as none exists.'}
          </p>
        </Panel>
        <ConfigChanges onChange={config.reload} />
        <ExplainForm />
        <Panel title="Effective configuration" class="wide">
          <QueryView of={config}>{(data) => <Json value={data} label="Effective configuration" />}</QueryView>
        </Panel>
        <Panel title="More" class="wide">
          <p>
            <a href="/docs">REST API reference</a>, <a href="/openapi.json">OpenAPI document</a>,{' '}
            <a href="/health/ready">health</a>.
          </p>
        </Panel>
      </div>
    </>
  )
}
