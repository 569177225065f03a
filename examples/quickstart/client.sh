# A tiny MCP client over streamable HTTP, for run.sh: curl and jq. Source it; set mcp_url and mcp_token_file first.

mcp_id=0
mcp_session=

# mcp METHOD PARAMS: the answer, one line of JSON. An answer may come as it is or as the last event of a stream.
mcp() {
  local body headers=$work/headers id=$RANDOM$RANDOM
  body=$(jq -cn --arg method "$1" --argjson params "$2" --argjson id "$id" '{jsonrpc: "2.0", id: $id, method: $method, params: $params}')
  curl -sS --max-time 60 -D "$headers.$id" -H "Authorization: Bearer $(cat "$mcp_token_file")" \
    -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
    ${mcp_session:+-H "Mcp-Session-Id: $mcp_session" -H 'MCP-Protocol-Version: 2025-11-25'} \
    --data-binary "$body" "$mcp_url" | sed 's/^data: \{0,1\}//; /^\(event\|id\|retry\):/d; /^:/d' | jq -c --argjson id "$id" 'select(.id == $id)'
  mv "$headers.$id" "$headers"
}

mcp_connect() {
  mcp initialize '{"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "quickstart", "version": "1"}}' >"$work/initialize.json"
  mcp_session=$(tr -d '\r' <"$work/headers" | sed -n 's/^[Mm]cp-[Ss]ession-[Ii]d: //p')
  curl -sS -o /dev/null -H "Authorization: Bearer $(cat "$mcp_token_file")" -H 'Content-Type: application/json' \
    -H 'Accept: application/json, text/event-stream' -H "Mcp-Session-Id: $mcp_session" -H 'MCP-Protocol-Version: 2025-11-25' \
    --data-binary '{"jsonrpc":"2.0","method":"notifications/initialized"}' "$mcp_url"
}

# call TOOL ARGUMENTS: the result of the tool call.
call() { mcp tools/call "$(jq -cn --arg name "export__$1" --argjson arguments "$2" '{name: $name, arguments: $arguments}')" | jq -c .result; }
